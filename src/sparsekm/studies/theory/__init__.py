"""The paper's theorems put in numbers: what they promise beside what is seen."""
