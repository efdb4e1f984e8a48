"""The references of a report, numbered in the order of citation."""

from __future__ import annotations

from dataclasses import dataclass


@dataclass(frozen=True)
class Reference:
    """A reference, with its DOI if it has one."""

    text: str
    doi: str | None = None

    @property
    def url(self) -> str:
        """The address of the DOI."""
        return f"https://doi.org/{self.doi}"


LITERATURE = {
    "l0": Reference(
        "X. Chang, Y. Wang, R. Li, Z. Xu. Sparse k-means with ℓ∞/ℓ0 penalty for high-dimensional "
        "data clustering. Statistica Sinica 28:1265–1284, 2018 (preprint 2014).",
        "10.48550/arXiv.1403.7890",
    ),
    "l1": Reference(
        "D. M. Witten, R. Tibshirani. A framework for feature selection in clustering. Journal of "
        "the American Statistical Association 105:713–726, 2010.",
        "10.1198/jasa.2010.tm09415",
    ),
    "pgmm": Reference(
        "W. Pan, X. Shen. Penalized model-based clustering with application to variable "
        "selection. Journal of Machine Learning Research 8:1145–1164, 2007.",
    ),
    "ifpca": Reference(
        "J. Jin, W. Wang. Influential features PCA for high dimensional clustering. Annals of "
        "Statistics 44:2323–2359, 2016.",
        "10.1214/15-AOS1423",
    ),
    "scfs": Reference(
        "T. Liu, Y. Lu, B. Zhu, H. Zhao. Clustering high-dimensional data via feature selection. "
        "Biometrics 79:940–950, 2023.",
        "10.1111/biom.13665",
    ),
    "gap": Reference(
        "R. Tibshirani, G. Walther, T. Hastie. Estimating the number of clusters in a data set "
        "via the gap statistic. Journal of the Royal Statistical Society B 63:411–423, 2001.",
        "10.1111/1467-9868.00293",
    ),
    "coassociation": Reference(
        "A. L. N. Fred, A. K. Jain. Combining multiple clusterings using evidence accumulation. "
        "IEEE Transactions on Pattern Analysis and Machine Intelligence 27:835–850, 2005.",
        "10.1109/TPAMI.2005.113",
    ),
    "stability": Reference(
        "N. Meinshausen, P. Bühlmann. Stability selection. Journal of the Royal Statistical "
        "Society B 72:417–473, 2010.",
        "10.1111/j.1467-9868.2010.00740.x",
    ),
    "blocks": Reference(
        "H. R. Künsch. The jackknife and the bootstrap for general stationary observations. Annals "
        "of Statistics 17:1217–1241, 1989.",
        "10.1214/aos/1176347265",
    ),
    "variogram": Reference(
        "J. B. Burt, M. Helmer, M. Shinn, A. Anticevic, J. D. Murray. Generative modeling of brain "
        "maps with spatial autocorrelation. NeuroImage 220:117038, 2020.",
        "10.1016/j.neuroimage.2020.117038",
    ),
    "spatial": Reference(
        "B. D. Fulcher, A. Arnatkevičiūtė, A. Fornito. Overcoming false-positive gene-category "
        "enrichment in the analysis of spatially resolved transcriptomic brain atlas data. Nature "
        "Communications 12:2669, 2021.",
        "10.1038/s41467-021-22862-1",
    ),
    "fdr": Reference(
        "Y. Benjamini, Y. Hochberg. Controlling the false discovery rate: a practical and "
        "powerful approach to multiple testing. Journal of the Royal Statistical Society B "
        "57:289–300, 1995.",
        "10.1111/j.2517-6161.1995.tb02031.x",
    ),
    "go": Reference(
        "The Gene Ontology Consortium. The Gene Ontology knowledgebase in 2023. Genetics "
        "224:iyad031, 2023.",
        "10.1093/genetics/iyad031",
    ),
    "cer": Reference(
        "H. Chipman, R. Tibshirani. Hybrid hierarchical clustering with applications to "
        "microarray data. Biostatistics 7:286–301, 2006.",
        "10.1093/biostatistics/kxj007",
    ),
    "ari": Reference(
        "L. Hubert, P. Arabie. Comparing partitions. Journal of Classification 2:193–218, 1985.",
        "10.1007/BF01908075",
    ),
    "ami": Reference(
        "N. X. Vinh, J. Epps, J. Bailey. Information theoretic measures for clusterings "
        "comparison: is a correction for chance necessary? Proceedings of the 26th International "
        "Conference on Machine Learning, 1073–1080, 2009.",
        "10.1145/1553374.1553511",
    ),
    "atlas": Reference(
        "C. L. Thompson et al. A high-resolution spatiotemporal atlas of gene expression of the "
        "developing mouse brain. Neuron 83:309–323, 2014.",
        "10.1016/j.neuron.2014.05.033",
    ),
    "snakemake": Reference(
        "F. Mölder et al. Sustainable data analysis with Snakemake. F1000Research 10:33, 2021.",
        "10.12688/f1000research.29032.2",
    ),
    "anndata": Reference(
        "I. Virshup et al. anndata: Access and store annotated data matrices. Journal of Open "
        "Source Software 9:4371, 2024.",
        "10.21105/joss.04371",
    ),
}


class Citations:
    """Numbers references in the order of their first citation.

    Examples
    --------
    >>> citations = Citations()
    >>> citations.cite("gap"), citations.cite("l0"), citations.cite("gap")
    ('[1]', '[2]', '[1]')
    """

    def __init__(self) -> None:
        self._keys: list[str] = []

    def cite(self, key: str) -> str:
        """Return the number in brackets of a reference in `LITERATURE`."""
        if key not in LITERATURE:
            raise KeyError(f"key={key!r} should be one of {', '.join(LITERATURE)}.")
        if key not in self._keys:
            self._keys.append(key)
        return f"[{self._keys.index(key) + 1}]"

    @property
    def cited(self) -> list[Reference]:
        """The references cited so far, in order."""
        return [LITERATURE[key] for key in self._keys]
