# What a host does first, as process 1 of its own namespaces: an overlay over / with a disk of its own, and all that
# belongs to a running system. Its standard input is held by the test: when the test is gone, however it went, so is
# the host. Wants: dir (of the host), name, shared (a directory of all hosts), homes (lines: uid gid path), share_homes.
set -eu
read -r pid _ </proc/self/stat # as the outside sees it: /proc is still the outside's
echo "$pid" >"$dir/init.pid.new"
mv "$dir/init.pid.new" "$dir/init.pid"
root=$dir/root disk=$dir/disk
mount -t overlay overlay -o "lowerdir=/,upperdir=$disk/upper,workdir=$disk/work" "$root"
mount --bind /dev "$root/dev"
mount -t devpts -o newinstance,ptmxmode=0666,mode=620 devpts "$root/dev/pts"
mount -t tmpfs -o size=64m,mode=1777 shm "$root/dev/shm"
mount -t proc proc "$root/proc"
mount --bind "$dir/boot_id" "$root/proc/sys/kernel/random/boot_id"
mount -t tmpfs -o size=16m,mode=755 run "$root/run"
mkdir "$root/run/sshd"
mkdir -m 1777 "$root/run/lock"
for own in root home tmp; do mount --bind "$disk/$own" "$root/$own"; done
mkdir -p "$root$shared"
mount --bind "$shared" "$root$shared"
echo "$homes" | while read -r uid gid home; do
  [ -n "$home" ] || continue
  mkdir -p "$(dirname "$root$home")"
  [ -d "$root$home" ] || install -d -o "$uid" -g "$gid" -m 750 "$root$home"
  [ -z "$share_homes" ] || mount --bind "$home" "$root$home"
done
hostname "$name"
cd "$root"
mkdir -p .outside
pivot_root . .outside
umount -l /.outside
rmdir /.outside
cd /
: >/run/booted
exec tini -- cat >/dev/null
