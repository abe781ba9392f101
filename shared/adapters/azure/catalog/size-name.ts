/** The parts of a VM size's name that labels are made of. */
export interface SizeName {
  /** One letter: `D` of `Standard_D4pls_v6`. */
  readonly family: string;
  /** Family, subfamily, features and version: `Dpls_v6`. */
  readonly series: string;
  /** Digits only; `1` when the name has none. */
  readonly version: string;
  /** True for sizes with some of their cores switched off, such as `E8-4s_v5`. */
  readonly constrainedCores: boolean;
  /** True for confidential sizes (DC, EC). */
  readonly confidential: boolean;
  /** What follows the features, such as `A10`; empty for most. */
  readonly accelerator: string;
}

const GRAMMAR =
  /^Standard_([A-Z])([A-Z]{0,2})(\d+)(-\d+)?([a-z]*)(?:_[a-z]{2,})?(?:_([A-Z][A-Z0-9]*))?(?:_v(\d+))?(?:_Promo)?$/;

/** Reads Azure's size naming; null when the name follows another scheme. Source: Azure's VM naming conventions. */
export function parseSizeName(name: string): SizeName | null {
  const match = GRAMMAR.exec(name);
  if (match === null) return null;
  const [, family = '', subfamily = '', , constrained, features = '', accelerator = '', version] = match;
  return {
    family,
    series: `${family}${subfamily}${features}${version === undefined ? '' : `_v${version}`}`,
    version: version ?? '1',
    constrainedCores: constrained !== undefined,
    confidential: subfamily.startsWith('C') && (family === 'D' || family === 'E'),
    accelerator,
  };
}
