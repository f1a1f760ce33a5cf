package coordinator

import (
	"google.golang.org/grpc/health/grpc_health_v1"

	"caucus/internal/database"
)

// noteDamage looks at a failure of the store or the ledger. Files that are damaged end
// the coordinator's health until it is started again, on sound ones: whoever
// watches it is told by its first look at a damaged page.
func (s *Server) noteDamage(err error) {
	if !database.Damaged(err) || !s.unwell.CompareAndSwap(false, true) {
		return
	}
	s.config.Log.Error("a file of this coordinator is damaged: stop it and restore a backup of the whole folder", "error", err)
	if s.health != nil {
		s.health.SetServingStatus("", grpc_health_v1.HealthCheckResponse_NOT_SERVING)
	}
}
