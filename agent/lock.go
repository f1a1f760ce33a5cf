package agent

import (
	"errors"
	"fmt"

	"caucus/internal/folder"
)

// lockState makes sure that one agent runs on a state folder.
func lockState(dir string) (release func(), err error) {
	release, err = folder.Lock(dir)
	if errors.Is(err, folder.ErrHeld) {
		return nil, fmt.Errorf("lock state folder %s: another agent runs on it: stop it first (%w)", dir, err)
	}
	if err != nil {
		return nil, fmt.Errorf("lock state folder: %w", err)
	}
	return release, nil
}
