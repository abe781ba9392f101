import { readFileSync } from 'node:fs';
import { gunzipSync } from 'node:zlib';

/** One of the files in `data`: what the real provider sends and what AgentBaker makes of it. See the README there. */
export function golden(name: string): unknown {
  const bytes = readFileSync(new URL(`data/${name}.json.gz`, import.meta.url));
  return JSON.parse(gunzipSync(bytes).toString('utf8')) as unknown;
}

type Texts = Readonly<Record<string, string>>;

/** One launch of the real provider. */
export interface Launch {
  readonly network: string;
  readonly nodeClass: string;
  readonly kubernetes: string;
  readonly size: string;
  readonly capacityType: 'on-demand' | 'spot';
  readonly vm: Readonly<Record<string, unknown>>;
  readonly nic: Readonly<Record<string, unknown>>;
  readonly extension: Readonly<Record<string, unknown>>;
  readonly kubeletFlags: Texts;
  readonly nodeLabels: Texts;
  readonly variables: Texts;
}

interface File {
  readonly columns: ReadonlyArray<string>;
  readonly rows: ReadonlyArray<ReadonlyArray<string | number>>;
  readonly defaults: Readonly<Record<string, Texts>>;
}

/** All launches, the lists and differences of the file put together. */
export function launches(): ReadonlyArray<Launch> {
  const file = golden('launches') as File & Readonly<Record<string, ReadonlyArray<object>>>;
  return file.rows.map((row) => {
    const launch: Record<string, unknown> = Object.fromEntries(file.columns.map((name, index) => [name, row[index]]));
    for (const body of ['vm', 'nic', 'extension']) launch[body] = file[body]?.[Number(launch[body])];
    for (const map of ['kubeletFlags', 'nodeLabels', 'variables'])
      launch[map] = { ...file.defaults[map], ...file[map]?.[Number(launch[map])] };
    return launch as unknown as Launch;
  });
}
