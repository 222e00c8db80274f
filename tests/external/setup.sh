#!/bin/sh
# An environment in which lerobot can judge our datasets: sh setup.sh DIR [PYTHON]
# DIR is new and lies outside the repository; it takes 8 GB, most of it CUDA libraries that are never used.
set -eu
dir=${1:?usage: sh setup.sh DIR [PYTHON]}
python=${2:-python3.11}

"$python" -m venv "$dir"
"$dir/bin/pip" install --no-cache-dir lerobot==0.4.4 lerobot-doctor==0.2.0

# torchcodec, lerobot's first choice of a decoder, looks for FFmpeg by its plain library names. PyAV brings one, with a
# hash in each name; links beside them, so that they still find each other, spare the machine an FFmpeg of its own.
cd "$("$dir/bin/python" -c 'import av, pathlib; print(pathlib.Path(av.__file__).parents[1] / "av.libs")')"
for file in libav*-*.so.* libsw*-*.so.*; do
    major=${file#*.so.}
    ln -sf "$file" "${file%%-*}.so.${major%%.*}"
done
