# Needs R 4.0 and no package. As a program it reads CSV and writes CSV:
#
#     Rscript model.R people.csv > predictions.csv
#
# In a session:
#
#     source("model.R")
#     people <- read.csv("people.csv", colClasses = "character", check.names = FALSE)
#     caucus_predict(people)      # a data frame: predicted, and one number a class
#
# Cells are numbers or texts; NA and "" are missing.

caucus_number <- function(text) {
  text <- trimws(text, whitespace = "[\\h\\v]")
  fine <- grepl("^[+-]?([0-9]+\\.?[0-9]*|\\.[0-9]+)([eE][+-]?[0-9]+)?$", text)
  value <- rep(NA_real_, length(text))
  value[fine] <- as.numeric(text[fine])
  value[!is.finite(value)] <- NA_real_
  value
}

caucus_text <- function(cells) {
  text <- if (is.numeric(cells)) vapply(cells, format, "", digits = 17, trim = TRUE) else as.character(cells)
  text <- enc2utf8(trimws(text, whitespace = "[\\h\\v]"))
  text[is.na(cells)] <- ""
  text
}

# The encoded numbers, in [0, 1]: a row for each record.
caucus_encode <- function(records) {
  m <- caucus_model
  x <- matrix(0, nrow(records), m$encoded)
  rows <- seq_len(nrow(records))
  for (column in m$columns) {
    if (!(column$name %in% names(records))) stop("the records have no column ", column$name)
    text <- caucus_text(records[[column$name]])
    if (column$kind == "categorical") {
      at <- match(text, column$levels)
      known <- caucus_number(column$levels)
      by_number <- match(caucus_number(text), known, incomparables = NA)
      at <- ifelse(is.na(at), by_number, at)
      x[cbind(rows, ifelse(is.na(at), column$other + 1, column$at + at))] <- 1
      next
    }
    value <- caucus_number(text)
    value[text == m$missing] <- NA_real_
    low <- column$min
    high <- column$max
    lacking <- is.na(value)
    value <- pmin(pmax(value, low), high)
    if (column$log) {
      value <- log1p(value)
      low <- log1p(low)
      high <- log1p(high)
    }
    scaled <- pmin(pmax((value - low) / (high - low), 0), 1)
    scaled[lacking] <- 0.5
    x[, column$at + 1] <- scaled
    if (column$flag) x[, column$at + 2] <- as.numeric(lacking)
  }
  x
}

# One score a class: a row for each record.
caucus_scores <- function(records) {
  x <- caucus_encode(records)
  n <- nrow(x)
  for (s in caucus_model$steps) {
    x <- switch(s$op,
      standard = pmin(pmax((x - rep(s$mean, each = n)) * rep(s$factor, each = n), -s$cut), s$cut),
      linear = x %*% s$matrix + rep(s$offset, each = n),
      ball = x / pmax(1, sqrt(rowSums(x^2))),
      stop("this model has a step that this program does not know: ", s$op)
    )
  }
  x
}

# One number a class, of scores: caucus_model$output says what they are.
caucus_values <- function(s) {
  p <- s
  if (caucus_model$output != "score") {
    e <- exp(s - apply(s, 1, max))
    p <- e / rowSums(e)
  }
  colnames(p) <- paste0(caucus_model$output, "_", caucus_model$classes)
  p
}

caucus_predict <- function(records) {
  s <- caucus_scores(records)
  data.frame(
    predicted = caucus_model$classes[max.col(s, ties.method = "first")],
    caucus_values(s), check.names = FALSE
  )
}

if (sys.nframe() == 0L && !interactive()) {
  args <- commandArgs(trailingOnly = TRUE)
  refuse <- function(...) {
    message(...)
    quit(save = "no", status = 1)
  }
  if (length(args) != 1) refuse("usage: Rscript model.R RECORDS.csv > predictions.csv")
  for (w in caucus_model$warnings) message("warning: ", w)
  said <- NULL # why a file cannot be opened is a warning
  people <- tryCatch(
    withCallingHandlers(
      read.csv(args[1], colClasses = "character", check.names = FALSE, na.strings = character(0), strip.white = TRUE, encoding = "UTF-8"),
      warning = function(w) {
        said <<- conditionMessage(w)
        invokeRestart("muffleWarning")
      }
    ),
    error = function(e) refuse(args[1], " cannot be read: ", if (is.null(said)) conditionMessage(e) else said)
  )
  if (!is.null(said)) message("warning: ", args[1], ": ", said)
  names(people)[1] <- sub("^\ufeff", "", names(people)[1])
  out <- tryCatch(caucus_predict(people), error = function(e) refuse(args[1], ": ", conditionMessage(e)))
  quoted <- function(texts) sprintf('"%s"', gsub('"', '""', texts, fixed = TRUE))
  numbers <- lapply(unname(out[-1]), format, digits = 17, trim = TRUE)
  lines <- do.call(paste, c(list(seq_len(nrow(out)), quoted(out$predicted)), numbers, sep = ","))
  # UTF-8 in whatever locale, which write.csv would not keep.
  writeLines(enc2utf8(c(paste(quoted(c("row", names(out))), collapse = ","), lines)), useBytes = TRUE)
}
