import type { World } from './world.ts';

type Counts = Readonly<Record<string, Readonly<Record<string, number>>>>;

/** Executions so far, by function, in all processes. */
export async function readExecutions({ sandbox }: World): Promise<Readonly<Record<string, number>>> {
  const counts = await Promise.all(
    sandbox.hostUrls.map(async (url) => (await (await fetch(`${url}/admin/host/executions`)).json()) as Counts),
  );
  const sums: Record<string, number> = {};
  for (const [name, count] of counts.flatMap((one) => Object.entries(one))) {
    sums[name] = Object.values(count).reduce((sum, one) => sum + one, sums[name] ?? 0);
  }
  return sums;
}
