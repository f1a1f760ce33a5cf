package records

import (
	"context"
	"database/sql"
	"sync"
)

// statements keeps a database's statements prepared. It prepares one after the first transaction
// that used it, since the database's only connection may be taken while that runs. There are as
// many as the code has: no statement's text depends on stored data.
type statements struct {
	db *sql.DB

	mu     sync.Mutex           // guards kept and wanted
	kept   map[string]*sql.Stmt // nil: wanted
	wanted []string
}

func newStatements(db *sql.DB) *statements {
	return &statements{db: db, kept: map[string]*sql.Stmt{}}
}

// in returns a statement for a transaction, nil if it is not prepared yet.
func (s *statements) in(ctx context.Context, tx *sql.Tx, query string) *sql.Stmt {
	s.mu.Lock()
	defer s.mu.Unlock()
	kept, known := s.kept[query]
	if !known {
		s.kept[query] = nil
		s.wanted = append(s.wanted, query)
	}
	if kept == nil {
		return nil
	}
	return tx.StmtContext(ctx, kept)
}

// prepare prepares the wanted statements. One that fails is wanted again: it works unprepared.
func (s *statements) prepare(ctx context.Context) {
	s.mu.Lock()
	wanted := s.wanted
	s.wanted = nil
	s.mu.Unlock()
	for _, query := range wanted {
		made, err := s.db.PrepareContext(ctx, query)
		s.mu.Lock()
		if err != nil {
			delete(s.kept, query)
		} else {
			s.kept[query] = made
		}
		s.mu.Unlock()
	}
}

func (s *statements) close() {
	s.mu.Lock()
	defer s.mu.Unlock()
	for _, made := range s.kept {
		if made != nil {
			made.Close()
		}
	}
	clear(s.kept)
}
