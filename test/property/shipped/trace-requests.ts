import { readFileSync } from 'node:fs';
import { join } from 'node:path';

/** What one task of a production cluster asks for. */
export interface TraceRequest {
  readonly cpuMilli: number;
  readonly memoryMib: number;
  readonly gpus: number;
}

type Row = readonly [cpuMilli: number, memoryGib: number, gpus: number];

/**
 * As spread as the requests of 8,152 tasks of a GPU cluster (openb, published in 2023), in figures of our own: tasks
 * without, with one and with several GPUs, each sorted by CPU and memory; 9, 21 and 6 of each at even distances;
 * rounded to two digits.
 */
const ROWS: ReadonlyArray<Row> = [
  [8_000, 30, 0],
  [8_000, 31, 0],
  [12_000, 56, 0],
  [12_000, 56, 0],
  [12_000, 56, 0],
  [15_000, 50, 0],
  [16_000, 50, 0],
  [32_000, 48, 0],
  [32_000, 48, 0],
  [3_200, 5.5, 1],
  [3_200, 5.5, 1],
  [3_200, 5.5, 1],
  [3_200, 5.5, 1],
  [3_200, 5.5, 1],
  [4_000, 16, 1],
  [4_000, 30, 1],
  [6_000, 6, 1],
  [8_000, 30, 1],
  [8_000, 30, 1],
  [9_800, 41, 1],
  [11_000, 48, 1],
  [11_000, 48, 1],
  [11_000, 47, 1],
  [11_000, 47, 1],
  [12_000, 46, 1],
  [12_000, 46, 1],
  [12_000, 46, 1],
  [12_000, 46, 1],
  [16_000, 32, 1],
  [19_000, 63, 1],
  [16_000, 65, 2],
  [32_000, 130, 4],
  [64_000, 260, 8],
  [64_000, 260, 8],
  [88_000, 320, 8],
  [88_000, 320, 8],
];

/** The trace itself where `LAW_TRACES` names the folder that has it (`openb-2023.csv`), else what is as spread. */
export function traceRequests(): ReadonlyArray<TraceRequest> {
  const folder = process.env['LAW_TRACES'];
  if (folder !== undefined && folder !== '') return readTrace(join(folder, 'openb-2023.csv'));
  return ROWS.map(([cpuMilli, memoryGib, gpus]) => ({ cpuMilli, memoryMib: memoryGib * 1024, gpus }));
}

function readTrace(path: string): ReadonlyArray<TraceRequest> {
  const [head = '', ...lines] = readFileSync(path, 'utf8').trim().split('\n');
  const names = head.split(',');
  const [cpu, memory, gpus] = ['cpu_milli', 'memory_mib', 'gpus'].map((name) => names.indexOf(name));
  if (cpu === undefined || memory === undefined || gpus === undefined || Math.min(cpu, memory, gpus) < 0) {
    throw new Error(`${path} has no columns cpu_milli, memory_mib and gpus`);
  }
  return lines.map((line) => {
    const cells = line.split(',').map(Number);
    return { cpuMilli: cells[cpu] ?? 0, memoryMib: cells[memory] ?? 0, gpus: cells[gpus] ?? 0 };
  });
}
