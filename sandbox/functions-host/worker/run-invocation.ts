import { format } from 'node:util';
import type { Log } from '../log.ts';
import type { CoreInvocationContext } from './core-module.ts';
import type { LoadedApp, LoadedFunction } from './function-app.ts';
import { runHooks, runHooksAtOnce, withHookData } from './run-hooks.ts';
import type { RpcInvocationRequest, RpcInvocationResponse } from './rpc.ts';

/**
 * Runs one invocation in the worker's order: arguments, pre-invocation hooks (which may replace inputs and handler),
 * the function, post-invocation hooks (which may replace its result or its error), the answer. Throws what the function
 * threw unless a hook cleared it.
 */
export async function runInvocation(
  app: LoadedApp,
  fn: LoadedFunction,
  request: RpcInvocationRequest,
  log: Log,
): Promise<RpcInvocationResponse> {
  if (app.model === null) throw new Error('The app has set no programming model: it does not use @azure/functions 4.');
  const core = createCoreContext(app, fn, request, log);
  const model = await app.model.getInvocationModel(core.context);
  const { context, inputs } = await model.getArguments();
  core.invocationContext = context;
  const hookData: Record<string, unknown> = {};

  const before = { invocationContext: context, inputs, functionCallback: fn.callback };
  await during(core.context, 'preInvocationHooks', () =>
    runHooks(app, 'preInvocation', withHookData(app, hookData, before)),
  );

  const after = { invocationContext: context, inputs: before.inputs, result: null as unknown, error: null as unknown };
  await during(core.context, 'invocation', async () => {
    try {
      after.result = await model.invokeFunction(context, before.inputs, before.functionCallback);
    } catch (error) {
      // A falsy thrown value is a failure too, and must still look like one to the hooks.
      after.error = error ?? new Error('The function threw nothing.');
    }
  });
  await during(core.context, 'postInvocationHooks', () =>
    runHooks(app, 'postInvocation', withHookData(app, hookData, after)),
  );
  if (after.error instanceof Error) throw after.error;
  if (after.error !== null && after.error !== undefined) throw new Error(format(after.error));
  return model.getResponse(context, after.result);
}

async function during(
  context: CoreInvocationContext,
  state: NonNullable<CoreInvocationContext['state']>,
  run: () => Promise<void>,
): Promise<void> {
  context.state = state;
  try {
    await run();
  } finally {
    context.state = undefined;
  }
}

interface Core {
  readonly context: CoreInvocationContext;
  invocationContext: object | undefined;
}

function createCoreContext(app: LoadedApp, fn: LoadedFunction, request: RpcInvocationRequest, log: Log): Core {
  const core: Core = {
    invocationContext: undefined,
    context: {
      invocationId: request.invocationId,
      request,
      metadata: fn.metadata,
      state: undefined,
      log(level, category, message) {
        const line = { level, message, category, invocationContext: core.invocationContext };
        runHooksAtOnce(app, 'log', withHookData(app, {}, line));
        if (category === 'user') log.ofApp(line.level, fn.name, request.invocationId, line.message);
        else log.ofFunction(line.level, fn.name, request.invocationId, line.message);
      },
    },
  };
  return core;
}
