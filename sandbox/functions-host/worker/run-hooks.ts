import type { HookName } from './core-module.ts';
import type { LoadedApp } from './function-app.ts';

/**
 * Runs the app's hooks of one moment, one after the other, on the same context. A hook that throws stops the rest and
 * is thrown on.
 */
export async function runHooks(app: LoadedApp, name: HookName, context: object): Promise<void> {
  for (const hook of app.hooks.get(name) ?? []) await hook(context);
}

/** Runs hooks that must not wait: those of a log line. */
export function runHooksAtOnce(app: LoadedApp, name: HookName, context: object): void {
  for (const hook of app.hooks.get(name) ?? []) hook(context);
}

/** Adds the two stores of data that hooks share, read-only themselves, to a context. */
export function withHookData<T extends object>(app: LoadedApp, hookData: Record<string, unknown>, context: T): T {
  return Object.defineProperties(context, {
    hookData: { get: () => hookData, set: refuse('hookData'), enumerable: true },
    appHookData: { get: () => app.appHookData, set: refuse('appHookData'), enumerable: true },
  });
}

function refuse(name: string): () => never {
  return () => {
    throw new Error(`Cannot assign to "${name}" because it is read-only`);
  };
}
