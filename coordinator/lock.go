package coordinator

import (
	"errors"
	"fmt"

	"caucus/internal/folder"
)

// lockFolder makes sure that one coordinator runs on a folder.
func lockFolder(dir string) (release func(), err error) {
	release, err = folder.Lock(dir)
	if errors.Is(err, folder.ErrHeld) {
		return nil, fmt.Errorf("lock folder %s: another coordinator runs on it: stop it first (%w)", dir, err)
	}
	if err != nil {
		return nil, fmt.Errorf("lock folder: %w", err)
	}
	return release, nil
}
