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
  return [
    name.name,
    facts.family,
    vCpus,
    availableOf(name, vCpus),
    memoryGib,
    facts.gpus,
    isArm(name, facts) ? 'Arm64' : 'x64',
    facts.zones.join(''),
    generationsOf(name, isArm(name, facts)),
    flagsOf(name, vCpus),
    ...localStorageGib(name, vCpus),
    dataDisksOf(name, vCpus),
    networkInterfacesOf(vCpus),
  ];
}

function isArm(name: SizeName, facts: SizeFacts): boolean {
  return facts.arm || (/^[BDE]$/.test(name.letters) && name.additive.includes('p'));
}

/** In old series the number in the name is not the vCPU count: it counts only where the name has two numbers. */
function availableOf(name: SizeName, vCpus: number): number {
  return name.vCpusAvailable === name.vCpus ? vCpus : name.vCpusAvailable;
}

function dataDisksOf(name: SizeName, vCpus: number): number {
  return name.version >= 6 && vCpus >= 128 ? 64 : Math.min(32, 2 * vCpus);
}

function networkInterfacesOf(vCpus: number): number {
  if (vCpus <= 4) return 2;
  return vCpus <= 16 ? 4 : 8;
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

/**
 * `DiskControllerTypes` as the list of sizes has it; null where it has none, which is SCSI alone. NVMe alone from
 * version 6 on (observed 2025-06: Standard_D2as_v6, Standard_D128ds_v6), and in the fourth L and the second FX series;
 * both in Ebsv5 and Ebdsv5, the only ones of their generation, and in Mbsv3 and Mbdsv3 (Learn "NVMe overview" and
 * "Remote NVMe FAQ", 2026-08).
 */
export function diskControllersOf({ letters, additive, version }: SizeName): string | null {
  if (version >= 6 && /^(D|E|F|DC|EC)$/.test(letters)) return 'NVMe';
  if ((letters === 'L' && version >= 4) || (letters === 'FX' && version >= 2)) return 'NVMe';
  const isBlockOptimized = additive.includes('b');
  const both = (letters === 'E' && version === 5) || (letters === 'M' && version === 3);
  return isBlockOptimized && both ? 'SCSI,NVMe' : null;
}

type LocalStorage = readonly [cachedGib: number, tempGib: number, nvmeGib: number];

const NONE: LocalStorage = [0, 0, 0];

/** Cache and temp disk in GiB per vCPU of series without the letter d, by letters, additive letters and version. */
const PER_VCPU: { readonly [series: string]: readonly [cachedGib: number, tempGib: number] } = {
  DS2: [43, 7],
  Fs2: [16, 8],
  Ds3: [25, 8],
  Das4: [25, 8],
  Es3: [25, 16],
  Eas4: [25, 16],
};

/** Sizes of the second DS series above this have another ratio. */
const DS2_VCPUS = 16;

/** Cache, temp disk and NVMe, from the sizes documented per vCPU; zero where a series is not documented here. */
function localStorageGib(name: SizeName, vCpus: number): LocalStorage {
  const { letters, additive, version } = name;
  const perVcpu = PER_VCPU[`${letters}${additive}${version}`];
  if (perVcpu !== undefined && (letters !== 'DS' || vCpus <= DS2_VCPUS))
    return [perVcpu[0] * vCpus, perVcpu[1] * vCpus, 0];
  const plain = /^[DE]$/.test(letters) && !/[ib]/.test(additive) && additive.includes('d');
  return plain ? diskLetterStorage(name, vCpus) : NONE;
}

/** The D and E series with the letter d: a temp disk until version 5, NVMe in version 6. */
function diskLetterStorage(name: SizeName, vCpus: number): LocalStorage {
  if (name.version === 4 || name.version === 5) return [isPremium(name) ? 25 * vCpus : 0, 37.5 * vCpus, 0];
  return name.version === 6 ? [0, 0, 55 * vCpus] : NONE;
}
