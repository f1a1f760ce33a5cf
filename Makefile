.PHONY: demo test lint check long

demo:
	go run ./cmd/caucus demo

test:
	go test ./...

lint:
	@test -z "$$(gofmt -l $$(git ls-files '*.go'))" || { gofmt -l $$(git ls-files '*.go'); exit 1; }
	go vet ./... && go vet -C lab ./...
	go run honnef.co/go/tools/cmd/staticcheck@v0.8.2 ./...
	.ci/count

check:
	.ci/run

long:
	.ci/long
