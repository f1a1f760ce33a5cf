# A classification tree by rpart, as a site's own classifier. Caucus runs it as:
# Rscript vote.R RECORDS POOL SCHEMA (docs/site.md).
suppressMessages(library(rpart)) # comes with R
files <- commandArgs(trailingOnly = TRUE)

# Texts stay texts, also where they look like numbers or like NA.
read <- function(path) read.csv(path, check.names = FALSE, colClasses = "character", na.strings = "")
records <- read(files[1])
pool <- read(files[2])
label <- names(records)[ncol(records)]
features <- names(pool)

# A column is a number where all that is there reads as one, in records and pool.
for (name in features) {
  both <- c(records[[name]], pool[[name]])
  if (!anyNA(suppressWarnings(as.numeric(both[!is.na(both)])))) {
    records[[name]] <- as.numeric(records[[name]])
    pool[[name]] <- as.numeric(pool[[name]])
  } else {
    known <- unique(both[!is.na(both)])
    records[[name]] <- factor(records[[name]], levels = known)
    pool[[name]] <- factor(pool[[name]], levels = known)
  }
}

x <- records[features]
names(x) <- paste0("x", seq_along(features)) # whatever the columns are called
pooled <- pool
names(pooled) <- names(x)
y <- factor(records[[label]])
if (nlevels(y) < 2) {
  votes <- rep(levels(y)[1], nrow(pool))
} else {
  tree <- rpart(y ~ ., data = cbind(y = y, x), method = "class", control = rpart.control(minsplit = 10, cp = 0.005))
  votes <- as.character(predict(tree, pooled, type = "class"))
}
writeLines(votes)
