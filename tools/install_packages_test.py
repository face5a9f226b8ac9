#!/usr/bin/env python3
"""Tests of install_packages.sh, with stand-ins for dpkg-query, apt-get, id and sudo."""
import os
import shutil
import subprocess
import tempfile
import unittest

SCRIPT = os.path.join(os.path.dirname(os.path.abspath(__file__)), "install_packages.sh")
DPKG_QUERY = """for last; do :; done
case " $INSTALLED " in *" $last "*) printf installed ;; *) exit 1 ;; esac
"""


class InstallPackagesTest(unittest.TestCase):
    def setUp(self):
        directory = tempfile.TemporaryDirectory()
        self.addCleanup(directory.cleanup)
        self.root = directory.name
        self.calls = os.path.join(self.root, "calls")
        os.mkdir(os.path.join(self.root, "bin"))
        for name in ("sh", "sed", "tr", "basename", "dirname", "env", "cat"):
            os.symlink(shutil.which(name), os.path.join(self.root, "bin", name))
        self.command("dpkg-query", DPKG_QUERY)
        self.command("apt-get", 'echo "apt-get $*" >>"$CALLS"\n')
        self.command("id", 'echo "$UID_FOR_TEST"\n')
        self.write("tiny.txt", "# A comment.\nhello  # and another\nworld\n")

    def write(self, name, text):
        with open(os.path.join(self.root, name), "w", encoding="utf-8") as file:
            file.write(text)

    def command(self, name, body):
        self.write(os.path.join("bin", name), "#!/bin/sh\n" + body)
        os.chmod(os.path.join(self.root, "bin", name), 0o755)

    def run_script(self, *lists, installed="", uid="0", **more):
        """(exit code, what it said, the calls of apt-get and sudo)."""
        env = {"PATH": os.path.join(self.root, "bin"), "CALLS": self.calls, "INSTALLED": installed,
               "UID_FOR_TEST": uid, "SEPTULE_PACKAGES_DIR": self.root, **more}
        done = subprocess.run(["/bin/sh", SCRIPT, *lists], env=env, check=False, text=True,
                              stdin=subprocess.DEVNULL, capture_output=True)
        calls = ""
        if os.path.exists(self.calls):
            with open(self.calls, encoding="utf-8") as file:
                calls = file.read()
        return done.returncode, done.stdout + done.stderr, calls

    def test_nothing_missing_is_silent_and_needs_no_root(self):
        self.assertEqual(self.run_script("tiny", installed="hello world", uid="1000"), (0, "", ""))

    def test_missing_is_named_and_installed_by_root(self):
        status, said, calls = self.run_script("tiny", installed="hello")
        self.assertEqual(status, 0)
        self.assertIn("Packages that are missing: world\n", said)
        self.assertIn("apt-get install -y --no-install-recommends world\n", said)
        self.assertIn("update\n", calls)
        self.assertIn("install -y --no-install-recommends world\n", calls)

    def test_without_root_and_sudo_says_what_to_do(self):
        status, said, calls = self.run_script("tiny", uid="1000")
        self.assertEqual(status, 1)
        self.assertIn("run the command above as root", said)
        self.assertEqual(calls, "")

    def test_sudo_never_asks_without_a_terminal(self):
        self.command("sudo", 'echo "sudo $*" >>"$CALLS"\n')
        status, _, calls = self.run_script("tiny", uid="1000", CI="true")
        self.assertEqual(status, 0)
        self.assertEqual([line.split()[:2] for line in calls.splitlines()], [["sudo", "-n"]] * 2)

    def test_failure_of_the_installation_is_a_failure(self):
        self.command("apt-get", 'case "$*" in *install*) exit 100 ;; esac\n')
        status, said, _ = self.run_script("tiny")
        self.assertEqual(status, 1)
        self.assertIn("could not be installed: hello world", said)

    def test_failure_of_the_update_alone_is_not(self):
        self.command("apt-get", 'case "$*" in *update*) exit 100 ;; esac\n')
        self.assertEqual(self.run_script("tiny")[0], 0)

    def test_unknown_list_and_no_list_are_usage_errors(self):
        self.assertEqual(self.run_script("none")[0], 2)
        self.assertEqual(self.run_script()[0], 2)

    def test_other_systems_are_told_the_names(self):
        os.remove(os.path.join(self.root, "bin", "dpkg-query"))
        status, said, _ = self.run_script("tiny")
        self.assertEqual(status, 0)
        self.assertIn("hello", said)


if __name__ == "__main__":
    unittest.main()
