import type { HttpResponseInit, InvocationContext } from '@azure/functions';
import { type Health, health } from '../shared/app/health.ts';
import { logTo } from './deliver/deliver.ts';
import { type Worker, theWorker, withinTime } from './execution.ts';

/** What the health page says. An app that cannot even be put together, for want of settings, says which. */
export async function answerHealth(
  context: Pick<InvocationContext, 'info'>,
  open = theWorker,
): Promise<HttpResponseInit> {
  const found = await look(context, open);
  return { status: found.isReady ? 200 : 503, jsonBody: found, headers: { 'cache-control': 'no-store' } };
}

async function look(context: Pick<InvocationContext, 'info'>, open: () => Worker): Promise<Health> {
  try {
    return await withinTime(open(), async ({ app }) => health(await app.ports(logTo(context))));
  } catch (error) {
    return { isReady: false, problems: [error instanceof Error ? error.message : String(error)], snapshotAgeMs: null };
  }
}
