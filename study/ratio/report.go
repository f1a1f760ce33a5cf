package ratio
