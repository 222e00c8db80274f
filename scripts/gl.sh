#!/bin/sh
# Headless OpenGL for camera pictures. Without it graspline draws with its own ray renderer, only more slowly.
have() { ldconfig -p 2>/dev/null | grep -q "$1"; }
if have libEGL.so.1 && have libOpenGL.so.0 && ls /usr/lib/*/dri/*swrast* >/dev/null 2>&1; then exit 0; fi
if [ "$(id -u)" = 0 ] && command -v apt-get >/dev/null 2>&1; then
  echo "installing libegl1 libopengl0 libgl1-mesa-dri"
  { apt-get update -qq && DEBIAN_FRONTEND=noninteractive apt-get install -y -qq libegl1 libopengl0 libgl1-mesa-dri; } >/dev/null 2>&1 \
    || echo "could not install the GL libraries; pictures come from the ray renderer"
else
  echo "no EGL found; pictures come from the ray renderer (for GL: apt-get install libegl1 libopengl0 libgl1-mesa-dri)"
fi
