//go:build !windows

package command

import (
	"os/exec"
	"syscall"
)

// ownGroup starts the program in a process group, which is killed as a whole.
func ownGroup(cmd *exec.Cmd) {
	cmd.SysProcAttr = &syscall.SysProcAttr{Setpgid: true}
	cmd.Cancel = func() error { return killGroup(cmd) }
}

// killGroup ends the program and its children.
func killGroup(cmd *exec.Cmd) error {
	if cmd.Process == nil { // it could not be started
		return nil
	}
	return syscall.Kill(-cmd.Process.Pid, syscall.SIGKILL)
}
