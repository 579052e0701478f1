#!/usr/bin/python3
"""Runs a program under the restrictions of a systemd unit, as far as they can be applied without systemd.

usage: confine.py UNIT ROOT PROGRAM [ARGUMENT...]

Applied: User= and Group= of ROOT, CapabilityBoundingSet= (empty), NoNewPrivileges=, ProtectSystem=strict with
StateDirectory= and RuntimeDirectory= writable, PrivateTmp=, PrivateIPC=, DevicePolicy=closed (with a separate /dev), ProtectProc=,
ProtectHome=, UMask=, LimitNOFILE=, LimitCORE=; and as seccomp: SystemCallFilter=, ProtectClock=, SystemCallArchitectures=native,
RestrictAddressFamilies=, RestrictNamespaces=, MemoryDenyWriteExecute=, RestrictSUIDSGID=, RestrictRealtime=, LockPersonality=.
Not applied: control groups (MemoryMax=, CPUQuota=, DeviceAllow=), PrivateUsers=, ProtectKernelTunables= and LoadCredential=.

ROOT is the root folder of an installed system, or /. Requires root, python3-seccomp and systemd-analyze, but no running systemd.
"""

import ctypes
import errno
import os
import resource
import subprocess
import sys

import seccomp

CLONE_NEWNS, CLONE_NEWIPC = 0x00020000, 0x08000000
NAMESPACES = 0x7E020080
MS_RDONLY, MS_NOSUID, MS_REMOUNT, MS_BIND, MS_REC, MS_PRIVATE = 1, 2, 32, 4096, 16384, 1 << 18
PR_CAPBSET_DROP, PR_SET_NO_NEW_PRIVS = 24, 38
PROT_WRITE, PROT_EXEC = 2, 4
FAMILIES = {"AF_UNIX": 1, "AF_INET": 2, "AF_INET6": 10, "AF_NETLINK": 16, "AF_CAN": 29}

libc = ctypes.CDLL(None, use_errno=True)


def call(name, *arguments):
    if getattr(libc, name)(*arguments) != 0:
        code = ctypes.get_errno()
        raise OSError(code, f"{name}: {os.strerror(code)}", arguments[1] if len(arguments) > 1 else None)


def mount(source, target, kind=None, flags=0, options=None):
    text = [value and value.encode() for value in (source, target, kind, options)]
    call("mount", text[0], text[1], text[2], ctypes.c_ulong(flags), text[3])


class Unit:
    """The [Service] section: all values of each key, in order."""

    def __init__(self, path):
        self.values = {}
        section = None
        with open(path, encoding="utf-8") as file:
            for line in map(str.strip, file):
                if line.startswith("["):
                    section = line
                elif section == "[Service]" and "=" in line and not line.startswith("#"):
                    key, value = line.split("=", 1)
                    self.values.setdefault(key.strip(), []).append(value.strip())

    def text(self, key, default=""):
        return self.values.get(key, [default])[-1]

    def isset(self, key):
        return self.text(key) in ("yes", "true", "1", "on")


def system_calls(name):
    """Returns the system calls of a name or a @set from systemd's tables."""
    if not name.startswith("@"):
        return {name}
    listing = subprocess.run(
        ["systemd-analyze", "syscall-filter", "--no-pager", name], check=True, capture_output=True, text=True).stdout
    found = set()
    for line in listing.splitlines()[1:]:
        word = line.strip()
        if word and not word.startswith("#"):
            found |= system_calls(word)
    return found


def seccomp_filter(unit):
    allowed = set()
    for value in unit.values.get("SystemCallFilter", []):
        names = value.removeprefix("~").split()
        chosen = set().union(*map(system_calls, names))
        allowed = allowed - chosen if value.startswith("~") else allowed | chosen
    if unit.isset("ProtectClock"):
        allowed -= system_calls("@clock")
    # systemd always permits these, since no program starts without them.
    allowed |= system_calls("@default")

    number = getattr(errno, unit.text("SystemCallErrorNumber", "EPERM"))
    rules = seccomp.SyscallFilter(seccomp.ERRNO(number))
    rules.set_attr(seccomp.Attr.CTL_NNP, True)

    def permit(name, *conditions):
        allowed.discard(name)
        rules.add_rule(seccomp.ALLOW, name, *conditions)

    if unit.isset("MemoryDenyWriteExecute"):
        for protection in (0, PROT_WRITE, PROT_EXEC):
            permit("mmap", seccomp.Arg(2, seccomp.MASKED_EQ, PROT_WRITE | PROT_EXEC, protection))
        for name in ("mprotect", "pkey_mprotect"):
            permit(name, seccomp.Arg(2, seccomp.MASKED_EQ, PROT_EXEC, 0))
        permit("shmat", seccomp.Arg(2, seccomp.MASKED_EQ, 0o100000, 0))
    if unit.text("RestrictAddressFamilies"):
        for family in unit.text("RestrictAddressFamilies").split():
            permit("socket", seccomp.Arg(0, seccomp.EQ, FAMILIES[family]))
    if unit.isset("RestrictNamespaces"):
        permit("clone", seccomp.Arg(0, seccomp.MASKED_EQ, NAMESPACES, 0))
        # A filter cannot read its flags, which are in memory; programs fall back to clone.
        allowed.discard("clone3")
        rules.add_rule(seccomp.ERRNO(errno.ENOSYS), "clone3")
        allowed -= {"unshare", "setns"}
    if unit.isset("RestrictSUIDSGID"):
        for name, mode in (("chmod", 1), ("fchmod", 1), ("fchmodat", 2), ("mkdir", 1), ("mkdirat", 2), ("mknod", 1)):
            if name in allowed:
                permit(name, seccomp.Arg(mode, seccomp.MASKED_EQ, 0o6000, 0))
    if unit.isset("RestrictRealtime"):
        allowed.discard("sched_setscheduler")
    if unit.isset("LockPersonality"):
        allowed.discard("personality")
    for name in sorted(allowed):
        try:
            seccomp.resolve_syscall(seccomp.Arch(), name)
            rules.add_rule(seccomp.ALLOW, name)
        except (ValueError, RuntimeError):
            continue  # not on this architecture
    return rules


def account(root, file, name):
    with open(f"{root}/etc/{file}", encoding="utf-8") as lines:
        for line in lines:
            fields = line.split(":")
            if fields[0] == name:
                return int(fields[2])
    sys.exit(f"confine.py: {root}/etc/{file} has no {name}")


def file_system(unit, root, uid, gid):
    call("unshare", CLONE_NEWNS | (CLONE_NEWIPC if unit.isset("PrivateIPC") else 0))
    mount(None, "/", flags=MS_REC | MS_PRIVATE)
    mount(root, root, flags=MS_BIND | MS_REC)
    writable = []
    for key, folder in (("StateDirectory", "/var/lib"), ("RuntimeDirectory", "/run")):
        for name in unit.text(key).split():
            path = f"{root}{folder}/{name}"
            os.makedirs(path, exist_ok=True)
            os.chown(path, uid, gid)
            os.chmod(path, int(unit.text(key + "Mode", "0755"), 8))
            mount(path, path, flags=MS_BIND)
            writable.append(path)
    if unit.text("ProtectSystem") == "strict":
        with open("/proc/self/mountinfo", encoding="utf-8") as mounts:
            points = sorted({line.split()[4] for line in mounts})
        for point in points:
            inside = point == root or point.startswith(root.rstrip("/") + "/")
            if inside and point not in writable and not point.startswith((f"{root}/proc", f"{root}/dev")):
                mount(None, point, flags=MS_REMOUNT | MS_BIND | MS_RDONLY | MS_NOSUID)
    if unit.isset("PrivateTmp"):
        for folder in ("/tmp", "/var/tmp"):
            mount("tmpfs", root + folder, "tmpfs", options="mode=1777,size=16m")
    if unit.isset("ProtectHome"):
        for folder in ("/home", "/root"):
            mount("tmpfs", root + folder, "tmpfs", MS_RDONLY, "mode=000")
    if unit.text("DevicePolicy") == "closed":
        kept = {name: os.open(f"/dev/{name}", os.O_PATH) for name in ("null", "zero", "full", "random", "urandom")}
        mount("tmpfs", f"{root}/dev", "tmpfs", MS_NOSUID, "mode=755,size=64k")
        for name, descriptor in kept.items():
            os.close(os.open(f"{root}/dev/{name}", os.O_CREAT | os.O_WRONLY, 0o666))
            mount(f"/proc/self/fd/{descriptor}", f"{root}/dev/{name}", flags=MS_BIND)
            os.close(descriptor)
    hidden = "hidepid=invisible" if unit.text("ProtectProc") == "invisible" else None
    mount("proc", f"{root}/proc", "proc", MS_NOSUID, hidden)


def main():
    if len(sys.argv) < 4:
        sys.exit(__doc__)
    unit, root, command = Unit(sys.argv[1]), os.path.realpath(sys.argv[2]).rstrip("/"), sys.argv[3:]
    uid, gid = account(root, "passwd", unit.text("User")), account(root, "group", unit.text("Group"))
    rules = seccomp_filter(unit)
    file_system(unit, root, uid, gid)
    os.umask(int(unit.text("UMask", "0022"), 8))
    for limit in ("NOFILE", "CORE"):
        if unit.text("Limit" + limit):
            value = int(unit.text("Limit" + limit))
            resource.setrlimit(getattr(resource, "RLIMIT_" + limit), (value, value))
    os.chroot(root or "/")
    os.chdir("/")
    if "CapabilityBoundingSet" in unit.values:
        capability = 0
        while libc.prctl(PR_CAPBSET_DROP, capability, 0, 0, 0) == 0:
            capability += 1
    os.setgroups([])
    os.setresgid(gid, gid, gid)
    os.setresuid(uid, uid, uid)
    if unit.isset("NoNewPrivileges"):
        call("prctl", PR_SET_NO_NEW_PRIVS, 1, 0, 0, 0)
    rules.load()
    os.execv(command[0], command)


if __name__ == "__main__":
    main()
