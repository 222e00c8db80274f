"""Bags of ROS 2 and the messages in them, made of plain values and without ROS.

Message types are those that Humble and its successors have in common, and a bag says what its types are made of.
"""

from __future__ import annotations

import io
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from pathlib import Path

import numpy as np
from numpy.typing import NDArray
from PIL import Image

from graspline.datasets.export.transforms import Transform
from graspline.datasets.format.video_packets import Pixels
from graspline.episodes.camera_views import View
from graspline.errors import EnvironmentProblem

try:
    from rosbags.interfaces import Qos, QosDurability, QosHistory, QosLiveliness, QosReliability, QosTime
    from rosbags.rosbag2 import CompressionFormat, CompressionMode, StoragePlugin, Writer
    from rosbags.typesys import Stores, get_typestore
    from rosbags.typesys.stores.ros2_humble import (
        builtin_interfaces__msg__Time,
        geometry_msgs__msg__Quaternion,
        geometry_msgs__msg__Transform,
        geometry_msgs__msg__TransformStamped,
        geometry_msgs__msg__Vector3,
        sensor_msgs__msg__CameraInfo,
        sensor_msgs__msg__CompressedImage,
        sensor_msgs__msg__JointState,
        sensor_msgs__msg__RegionOfInterest,
        std_msgs__msg__Header,
        std_msgs__msg__String,
        tf2_msgs__msg__TFMessage,
    )
except ImportError:
    raise EnvironmentProblem("ROS 2 bags need rosbags: pip install 'graspline[ros]'") from None

Array = NDArray[np.float64]
Message = (
    tf2_msgs__msg__TFMessage
    | sensor_msgs__msg__JointState
    | sensor_msgs__msg__CompressedImage
    | sensor_msgs__msg__CameraInfo
    | std_msgs__msg__String
)
# Told when, on which topic, and what.
Put = Callable[[int, str, Message], object]

STORE = get_typestore(Stores.ROS2_HUMBLE)
POSES_TYPE = tf2_msgs__msg__TFMessage.__msgtype__
JOINTS_TYPE = sensor_msgs__msg__JointState.__msgtype__
PICTURE_TYPE = sensor_msgs__msg__CompressedImage.__msgtype__
CAMERA_TYPE = sensor_msgs__msg__CameraInfo.__msgtype__
TEXT_TYPE = std_msgs__msg__String.__msgtype__

# From 9 on, metadata say how topics are offered in a way that Humble cannot read; Jazzy, whose own it is, reads both.
_VERSION = 8
_FOREVER = QosTime(9_223_372_036, 854_775_807)
_LATCHED = Qos(
    history=QosHistory.KEEP_LAST,
    depth=1,
    reliability=QosReliability.RELIABLE,
    durability=QosDurability.TRANSIENT_LOCAL,
    deadline=_FOREVER,
    lifespan=_FOREVER,
    liveliness=QosLiveliness.AUTOMATIC,
    liveliness_lease_duration=_FOREVER,
    avoid_ros_namespace_conventions=False,
)
_S = 1_000_000_000
_JPEG_QUALITY = 95


@contextmanager
def new_bag(
    folder: Path, topics: Mapping[str, str], *, latched: Sequence[str] = (), said: Mapping[str, str]
) -> Iterator[Put]:
    """Write a bag of topics, each with its type; gives what takes its messages, in the order of their times.

    A late listener still gets what was put last on topics that are latched. `said` goes into the bag's metadata.
    """
    writer = Writer(folder, version=_VERSION, storage_plugin=StoragePlugin.MCAP)
    # Chunks inside the file, which every reader of MCAP unpacks; all but pictures becomes four times smaller.
    writer.set_compression(CompressionMode.STORAGE, CompressionFormat.ZSTD)
    with writer:
        for name, value in said.items():
            writer.set_custom_data(name, value)
        connections = {
            topic: writer.add_connection(
                topic, kind, typestore=STORE, offered_qos_profiles=[_LATCHED] if topic in latched else []
            )
            for topic, kind in topics.items()
        }

        def put(at_ns: int, topic: str, message: Message) -> None:
            writer.write(connections[topic], at_ns, STORE.serialize_cdr(message, message.__msgtype__))

        yield put


def nanoseconds(t_s: float) -> int:
    """Simulated time as bags count it."""
    return round(t_s * _S)


def poses_message(at_ns: int, transforms: Iterable[Transform]) -> Message:
    """Transforms at one instant as a TF message."""
    return tf2_msgs__msg__TFMessage(transforms=[_pose(at_ns, each) for each in transforms])


def joints_message(
    at_ns: int, names: Sequence[str], position_rad: Array, velocity_rad_s: Array | None = None
) -> Message:
    """Joint positions, and velocities if given, as a JointState message."""
    nothing = np.zeros(0)
    return sensor_msgs__msg__JointState(
        header=_header(at_ns, ""),
        name=list(names),
        position=np.array(position_rad, float),
        velocity=nothing if velocity_rad_s is None else np.array(velocity_rad_s, float),
        effort=nothing,
    )


def picture_message(at_ns: int, frame: str, rgb: Pixels) -> Message:
    """An image as a JPEG message."""
    buffer = io.BytesIO()
    Image.fromarray(rgb).save(buffer, "jpeg", quality=_JPEG_QUALITY)
    data = np.frombuffer(buffer.getvalue(), np.uint8)
    return sensor_msgs__msg__CompressedImage(header=_header(at_ns, frame), format="jpeg", data=data)


def camera_message(at_ns: int, frame: str, view: View, fovy_rad: float) -> Message:
    """A pinhole without distortion; ROS counts from the middle of the first pixel."""
    focal_px = view.height / 2 / np.tan(fovy_rad / 2)
    K = np.array([[focal_px, 0, (view.width - 1) / 2], [0, focal_px, (view.height - 1) / 2], [0, 0, 1]])
    return sensor_msgs__msg__CameraInfo(
        header=_header(at_ns, frame),
        height=view.height,
        width=view.width,
        distortion_model="plumb_bob",
        d=np.zeros(5),
        k=K.ravel(),
        r=np.eye(3).ravel(),
        p=np.hstack([K, np.zeros((3, 1))]).ravel(),
        binning_x=0,
        binning_y=0,
        roi=sensor_msgs__msg__RegionOfInterest(x_offset=0, y_offset=0, height=0, width=0, do_rectify=False),
    )


def text_message(words: str) -> Message:
    """Text as a String message."""
    return std_msgs__msg__String(data=words)


def _header(at_ns: int, frame: str) -> std_msgs__msg__Header:
    sec, nanosec = divmod(at_ns, _S)
    return std_msgs__msg__Header(stamp=builtin_interfaces__msg__Time(sec=sec, nanosec=nanosec), frame_id=frame)


def _pose(at_ns: int, transform: Transform) -> geometry_msgs__msg__TransformStamped:
    x, y, z = transform.position_m.tolist()
    qw, qx, qy, qz = transform.quaternion.tolist()
    return geometry_msgs__msg__TransformStamped(
        header=_header(at_ns, transform.parent),
        child_frame_id=transform.child,
        transform=geometry_msgs__msg__Transform(
            translation=geometry_msgs__msg__Vector3(x=x, y=y, z=z),
            rotation=geometry_msgs__msg__Quaternion(x=qx, y=qy, z=qz, w=qw),
        ),
    )
