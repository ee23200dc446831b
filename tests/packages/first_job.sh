# A first job and a look at the dashboard, as root without a network. The arguments are how roost is called.
set -eu
export ROOST_HOME=/tmp/first-job
# Readable for every account, not only for root.
setpriv --reuid=65534 --regid=65534 --clear-groups env -u ROOST_HOME "$@" version
"$@" up --sim 2x8G --detach
said=$("$@" run -q -g 1 -- sh -c 'echo "runs on GPU $CUDA_VISIBLE_DEVICES"')
[ "$said" = 'runs on GPU 0' ] || { echo "the job wrote: $said"; exit 1; }
"$@" ls --all
"$@" web >/tmp/link
python3 - <<'END'
import re
from pathlib import Path
from urllib.request import HTTPCookieProcessor, build_opener

browser, link = build_opener(HTTPCookieProcessor()), Path("/tmp/link").read_text().split()[-1]
secret = re.search('name="csrf" value="([^"]+)"', browser.open(link).read().decode())[1]
dashboard = browser.open(link, f"csrf={secret}".encode()).read().decode()
assert 'type="module"' in dashboard, dashboard
print("the dashboard is there")
END
"$@" down
