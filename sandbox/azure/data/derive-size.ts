/** A size's name, taken apart by Azure's naming convention. */
export interface SizeName {
  readonly name: string;
  /** Capital letters after `Standard_`: family and subfamily. */
  readonly letters: string;
  readonly vCpus: number;
  /** The vCPUs left of a constrained-core size (`E8-4s_v5` → 4); equal to `vCpus` otherwise. */
  readonly vCpusAvailable: number;
  /** Lower-case letters: a = AMD, d = temp disk, l = low memory, m = memory, p = Arm, s = premium storage ... */
  readonly additive: string;
  /** Accelerator and version, `_A100_v4`; empty for the first generation. */
  readonly tail: string;
  readonly version: number;
}

/** What the sources say of one size; null where they are silent. */
export interface SizeFacts {
  readonly family: string | null;
  readonly vCpus: number | null;
  readonly memoryMib: number | null;
  readonly gpus: number | null;
  readonly arm: boolean;
  readonly zones: ReadonlyArray<string>;
}

/**
 * One size as `REGION.json` keeps it, in this order: name, family, vCPUs, vCPUs available, memory GiB, GPUs,
 * `x64`|`Arm64`, zones joined, Hyper-V generations, flags (p premium, a accelerated networking, h encryption at host,
 * l low priority capable, u ultra disk), cached GiB, temp disk GiB, NVMe GiB, data disks, network interfaces.
 * The file adds two prices, on-demand and spot, in micro-USD per hour, null where there is none.
 */
export type SizeRow = readonly [
  name: string,
  family: string,
  vCpus: number,
  vCpusAvailable: number,
  memoryGib: number,
  gpus: number,
  architecture: 'x64' | 'Arm64',
  zones: string,
  generations: string,
  flags: string,
  cachedGib: number,
  tempGib: number,
  nvmeGib: number,
  dataDisks: number,
  networkInterfaces: number,
];

const shape = /^Standard_([A-Z]+)(\d+)(?:-(\d+))?([a-z]*)((?:_[A-Za-z0-9]+)*)$/;

/** Takes a size's name apart; null for a name outside the convention. */
export function parseSizeName(name: string): SizeName | null {
  const [, letters, vCpus, available, additive, tail] = shape.exec(name) ?? [];
  if (letters === undefined || vCpus === undefined) return null;
  const version = /_v(\d+)$/i.exec(tail ?? '')?.[1];
  return {
    name,
    letters,
    vCpus: Number(vCpus),
    vCpusAvailable: Number(available ?? vCpus),
    additive: additive ?? '',
    tail: tail ?? '',
    version: version === undefined ? 1 : Number(version),
  };
}

/**
 * The capabilities of a size, from facts first and documented rules of its series second; null when neither tells its
 * family, vCPUs or memory. Where a series is not documented here, a capability is denied rather than guessed.
 */
export function deriveSize(name: SizeName, facts: SizeFacts): SizeRow | null {
  const vCpus = facts.vCpus ?? (isPlainSeries(name) ? name.vCpus : null);
  const memoryGib = facts.memoryMib === null ? seriesMemoryGib(name) : facts.memoryMib / 1024;
  if (facts.family === null || vCpus === null || memoryGib === null || facts.gpus === null) return null;
  const arm = facts.arm || (/^[BDE]$/.test(name.letters) && name.additive.includes('p'));
  const available = name.vCpusAvailable === name.vCpus ? vCpus : name.vCpusAvailable;
  const [cachedGib, tempGib, nvmeGib] = localStorageGib(name, vCpus);
  return [
    name.name,
    facts.family,
    vCpus,
    available,
    memoryGib,
    facts.gpus,
    arm ? 'Arm64' : 'x64',
    facts.zones.join(''),
    generationsOf(name, arm),
    flagsOf(name, vCpus),
    cachedGib,
    tempGib,
    nvmeGib,
    name.version >= 6 && vCpus >= 128 ? 64 : Math.min(32, 2 * vCpus),
    vCpus <= 4 ? 2 : vCpus <= 16 ? 4 : 8,
  ];
}

/** Series of which the size's number is its vCPU count and memory follows it in proportion. */
function isPlainSeries({ letters, additive }: SizeName): boolean {
  return /^[DEF]$/.test(letters) && !additive.includes('i');
}

/** GiB per vCPU of the D, E and F series from version 6 on: D 4 (l 2), E 8, F 4 (l 2, m 8); up to 192 vCPUs. */
function seriesMemoryGib(name: SizeName): number | null {
  if (!isPlainSeries(name) || name.version < 6 || name.vCpus > 192) return null;
  if (name.additive.includes('l')) return 2 * name.vCpus;
  if (name.letters === 'E' || name.additive.includes('m')) return 8 * name.vCpus;
  return 4 * name.vCpus;
}

function isPremium({ letters, additive }: SizeName): boolean {
  return additive.includes('s') || /^(DS|GS)$/.test(letters);
}

function generationsOf(name: SizeName, arm: boolean): string {
  if (arm || name.version >= 6 || /^(DC|EC)$/.test(name.letters)) return 'V2';
  return isPremium(name) || name.version >= 4 ? 'V1,V2' : 'V1';
}

function flagsOf(name: SizeName, vCpus: number): string {
  const premium = isPremium(name);
  const flags: ReadonlyArray<readonly [string, boolean]> = [
    ['p', premium],
    ['a', vCpus >= 2 && name.letters !== 'A'],
    ['h', premium || name.version >= 4],
    ['l', !/^[AB]$/.test(name.letters) && !name.tail.includes('Promo')],
    ['u', premium && /^[DE]$/.test(name.letters) && name.version >= 3 && name.version <= 5],
  ];
  return flags.flatMap(([flag, set]) => (set ? [flag] : [])).join('');
}

/** Cache, temp disk and NVMe in GiB, from the sizes documented per vCPU; zero where a series is not documented here. */
function localStorageGib(name: SizeName, vCpus: number): readonly [number, number, number] {
  const { letters, additive, version, tail } = name;
  const temp = additive.includes('d');
  if (letters === 'DS' && version === 2 && vCpus <= 16) return [43 * vCpus, 7 * vCpus, 0];
  if (letters === 'F' && additive === 's' && version === 2) return [16 * vCpus, 8 * vCpus, 0];
  if (!/^[DE]$/.test(letters) || /[ib]/.test(additive) || tail !== `_v${version}`) return [0, 0, 0];
  if ((version === 3 && additive === 's') || (version === 4 && additive === 'as'))
    return [25 * vCpus, (letters === 'E' ? 16 : 8) * vCpus, 0];
  if (!temp) return [0, 0, 0];
  if (version === 4 || version === 5) return [isPremium(name) ? 25 * vCpus : 0, 37.5 * vCpus, 0];
  return version === 6 ? [0, 0, 55 * vCpus] : [0, 0, 0];
}
