import type { World } from './world.ts';

/** Executions so far, by function. */
export async function readExecutions({ sandbox }: World): Promise<Readonly<Record<string, number>>> {
  const answer = await fetch(`${sandbox.functionsUrl}/admin/host/executions`);
  const counts = (await answer.json()) as Readonly<Record<string, Readonly<Record<string, number>>>>;
  return Object.fromEntries(
    Object.entries(counts).map(([name, count]) => [name, Object.values(count).reduce((sum, one) => sum + one, 0)]),
  );
}
