package console

import (
	"runtime/debug"
)

// programVersion is the version of this program, by semantic versioning. CHANGELOG.md says what
// each version changed; deploy/release reads the number here.
const programVersion = "0.4.0"

// Version is what --version, pages and releases say: the release, with the commit of a build from
// a checkout, such as 0.4.0+510508de1234.
func Version() string {
	if info, ok := debug.ReadBuildInfo(); ok {
		for _, s := range info.Settings {
			if s.Key == "vcs.revision" {
				return programVersion + "+" + s.Value[:min(12, len(s.Value))]
			}
		}
	}
	return programVersion
}
