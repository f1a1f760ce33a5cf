package site

import (
	"errors"
	"fmt"
	"path/filepath"

	"caucus/internal/folder"
)

// ErrSilent: an agent at work on the state folder says nothing, and so may nobody else who
// would be heard while it works.
var ErrSilent = errors.New("a contribution is being prepared on this state folder, and until it has left nothing here calls the coordinator: try again then")

// Speak lets this process call the coordinator until it is told that it hung up. Any
// number of processes may; none while an agent on the folder is silent.
func Speak(c Config) (hungUp func(), err error) {
	release, err := folder.ShareFile(VoiceFile(c))
	if errors.Is(err, folder.ErrHeld) {
		return nil, ErrSilent
	}
	if err != nil {
		return nil, fmt.Errorf("look whether an agent is at work: %w", err)
	}
	return release, nil
}

func VoiceFile(c Config) string { return filepath.Join(c.State, "voice") }
