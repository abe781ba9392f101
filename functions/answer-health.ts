import type { HttpResponseInit, InvocationContext } from '@azure/functions';
import { type Health, health } from '../shared/app/health.ts';
import { type App, theApp } from '../shared/composition.ts';
import { logTo } from './deliver.ts';

/** What the health page says. An app that cannot even be put together, for want of settings, says which. */
export async function answerHealth(context: Pick<InvocationContext, 'info'>, open = theApp): Promise<HttpResponseInit> {
  const found = await look(context, open);
  return { status: found.isReady ? 200 : 503, jsonBody: found, headers: { 'cache-control': 'no-store' } };
}

async function look(context: Pick<InvocationContext, 'info'>, open: () => App): Promise<Health> {
  try {
    return await health(await open().ports(logTo(context)));
  } catch (error) {
    return { isReady: false, problems: [error instanceof Error ? error.message : String(error)], snapshotAgeMs: null };
  }
}
