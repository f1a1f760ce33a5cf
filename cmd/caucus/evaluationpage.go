package main

import "caucus/study/evaluate"

func evaluationPage(e evaluate.Evaluation) string { return "" }
