package command

import (
	"os/exec"
	"strconv"
)

// ownGroup kills the program and its children on cancellation. Windows keeps track of them.
func ownGroup(cmd *exec.Cmd) {
	cmd.Cancel = func() error { return killGroup(cmd) }
}

func killGroup(cmd *exec.Cmd) error {
	if cmd.Process == nil || cmd.ProcessState != nil { // the program did not start, or has ended
		return nil
	}
	if err := exec.Command("taskkill", "/T", "/F", "/PID",
		strconv.Itoa(cmd.Process.Pid)).Run(); err != nil {
		return cmd.Process.Kill()
	}
	return nil
}
