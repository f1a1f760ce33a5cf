package house

import (
	"crypto/sha256"
	"encoding/hex"
	"os"
	"path/filepath"
	"testing"
)

// migrationDigests are the SHA-256 of every migration that ever ran on somebody's
// file. A new migration adds a line; a line never changes: files that a program of
// before made would be taken for what they are not.
var migrationDigests = map[string]string{
	"aggregator/migrations/0001_studies.sql":                     "f1a6f78389ab9c63d25c5bb7f4558f815ed64da6c8f12ba06159d3e71b0c549d",
	"aggregator/migrations/0002_untold.sql":                      "e034a0a4ccd303788e580e83a5deba0287edead54d7d38b9ae1c7f7badc07db2",
	"coordinator/records/migrations/0001_members_studies.sql":    "c78650b28ae6cb6ca2d88a24786fcfa539c3077d2ae5f6dfaf5f646c2dae6bbd",
	"coordinator/records/migrations/0002_declines.sql":           "f0758e0bbadceab41e5aa1c1e5b503fb578e0d723f2375a85f4fbf4fec5de1e7",
	"coordinator/records/migrations/0003_witnessed.sql":          "f5478b78aae977818b35b124036a3457b0203e482c3e696eff80459e9e609ccb",
	"coordinator/records/migrations/0004_revision.sql":           "738c9a5d823dffe89a1da5cc12d207be4a4a5e6ef49442fc06ea802a857414d9",
	"coordinator/records/migrations/0005_losses_clock.sql":       "c64743ed76edefb97f2facc0c2ad79a74cce8744724621301e3b72dd83df521b",
	"coordinator/records/migrations/0006_amendments.sql":         "f239fd0d294dccdf5b21694553940080004aa586ca296b9fc17385a2acfd5575",
	"coordinator/records/migrations/0007_courier.sql":            "4f99b3316859dc983b950882d7fdd72036b1a8674faca0e839bbb7323527b06f",
	"coordinator/records/migrations/0008_tokens.sql":             "c78106da39c682891d29aabfd0f4b816788aedee6b65f5a876c4fd45949a1573",
	"coordinator/records/migrations/0009_authorities.sql":        "b85e40586ccf309e59d6059b5cd247428735126d7e750e5fae6e8e2cf1e0f6c4",
	"coordinator/records/migrations/0010_anew.sql":               "d190453047ed5fbce6ca0b4b30ab09bbcb76f13ed32ee9bb84c9750c5c0a530b",
	"coordinator/records/migrations/0011_no_authorities.sql":     "7aaf2c56a96ac49d4715d149c98d9190835a24c6afd54971c7d33ce64e5bbd33",
	"coordinator/records/migrations/0012_forecasts.sql":          "9d1cb1cc315d6cd7ea946fbc2b0d644c6e97ab02d13949b326d1d4c4d9671ee1",
	"coordinator/records/migrations/0013_confirming_digests.sql": "4b92a68121b1c11888863afe91ad99aab85dfb21a180ab3dde5bc75064ba8ac4",
	"privacy/journal/migrations/0001_entries.sql":                "3ec7e23ad7e82443c7c492b75de27d5ef158a13f477a7243dfe1c9faa7c39ce2",
	"privacy/journal/migrations/0002_salt.sql":                   "dbf6980195236d14a4f52255e64872e85e9ef0b39c975a05728bf2ef7931948f",
}

// TestMigrationsNeverChange holds each migration to its digest.
func TestMigrationsNeverChange(t *testing.T) {
	found := map[string]bool{}
	for _, pattern := range []string{"*/migrations/*.sql", "*/*/migrations/*.sql"} {
		files, err := filepath.Glob(pattern)
		if err != nil {
			t.Fatal(err)
		}
		for _, name := range files {
			text, err := os.ReadFile(name)
			if err != nil {
				t.Fatal(err)
			}
			sum := sha256.Sum256(text)
			name = filepath.ToSlash(name)
			found[name] = true
			switch want := migrationDigests[name]; want {
			case hex.EncodeToString(sum[:]):
			case "":
				t.Errorf("%s is new: add its digest %x", name, sum)
			default:
				t.Errorf("%s was changed: put it back, and say what is new in a migration of its own", name)
			}
		}
	}
	for name := range migrationDigests {
		if !found[name] {
			t.Errorf("%s is gone: files of before still need it", name)
		}
	}
}
