#!/bin/sh
# The browser that tests of the page look at it with. Without it they are skipped.
if [ -x /usr/bin/chromium ]; then exit 0; fi
if [ "$(id -u)" = 0 ] && command -v apt-get >/dev/null 2>&1; then
  echo "installing chromium"
  { apt-get update -qq && DEBIAN_FRONTEND=noninteractive apt-get install -y -qq chromium; } >/dev/null 2>&1 \
    || echo "could not install chromium: tests of the page are skipped"
else
  echo "no /usr/bin/chromium found: tests of the page are skipped (as root on Debian: apt-get install chromium)"
fi
