package main

import (
	"os"
	"os/exec"
	"testing"
)

// TestPythonPackage runs the tests of python/ against this program.
func TestPythonPackage(t *testing.T) {
	python := os.Getenv("CAUCUS_PYTHON")
	if python == "" {
		t.Skip("CAUCUS_PYTHON names no Python with pandas and Matplotlib: .ci/peers sets it")
	}
	binary, err := exec.LookPath("caucus") // made by testscript.Main
	if err != nil {
		t.Fatal(err)
	}
	tests := exec.CommandContext(t.Context(), python, "-m", "unittest", "discover",
		"--start-directory", "../../python/tests")
	tests.Env = append(os.Environ(), "CAUCUS_BINARY="+binary)
	if said, err := tests.CombinedOutput(); err != nil {
		t.Errorf("%v\n%s", err, said)
	}
}
