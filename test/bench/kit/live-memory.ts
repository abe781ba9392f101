import { setTimeout as sleep } from 'node:timers/promises';

/** Where Node.js listens for a debugger once a signal asks it to, unless `--inspect-port` said otherwise. */
const INSPECT_PORT = 9229;
const OPEN_TRIES = 20;
const OPEN_PAUSE_MS = 100;
/** Whoever has the port may never answer. */
const ASK_MS = 500;
const MEASURE =
  '(() => { const { heapUsed, external } = process.memoryUsage(); return (heapUsed + external) / 1e6; })()';

interface Answer {
  readonly id?: number;
  readonly result?: { readonly result?: { readonly value?: unknown } };
  readonly method?: string;
  readonly params?: { readonly sessionId?: string; readonly message?: string };
}

/**
 * What a process of Node.js and its worker threads hold, in MB, once they have collected their garbage: what is
 * resident tells little of that, as a heap with room left is collected late. Null for one that is gone, does not answer
 * in time, or whose port another has. A debugger's door is open on this machine from then on.
 */
export async function liveMemoryMb(pid: number, port = INSPECT_PORT): Promise<number | null> {
  const address = await openInspector(pid, port).catch(() => null);
  if (address === null) return null;
  const socket = new WebSocket(address);
  try {
    return await Promise.race([measure(socket, pid), sleep(10_000, null)]);
  } catch {
    return null;
  } finally {
    socket.close();
  }
}

async function openInspector(pid: number, port: number): Promise<string | null> {
  process.kill(pid, 'SIGUSR1');
  for (let tried = 0; tried < OPEN_TRIES; tried++) {
    await sleep(OPEN_PAUSE_MS);
    const answer = await fetch(`http://127.0.0.1:${port}/json`, { signal: AbortSignal.timeout(ASK_MS) }).catch(
      () => null,
    );
    if (answer === null) continue;
    const [first] = (await answer.json()) as ReadonlyArray<{ readonly webSocketDebuggerUrl?: string }>;
    return first?.webSocketDebuggerUrl ?? null;
  }
  return null;
}

async function measure(socket: WebSocket, pid: number): Promise<number | null> {
  await new Promise((resolve, reject) => {
    socket.addEventListener('open', resolve, { once: true });
    socket.addEventListener('error', reject, { once: true });
  });
  const waiting = new Map<number, (answer: Answer) => void>();
  const workers: Array<string> = [];
  const hear = (answer: Answer): void => {
    if (answer.id !== undefined) waiting.get(answer.id)?.(answer);
    const { sessionId, message } = answer.params ?? {};
    if (answer.method === 'NodeWorker.attachedToWorker' && sessionId !== undefined) workers.push(sessionId);
    if (answer.method === 'NodeWorker.receivedMessageFromWorker') hear(JSON.parse(message ?? '{}') as Answer);
  };
  socket.addEventListener('message', ({ data }) => hear(JSON.parse(String(data)) as Answer));
  let asked = 0;
  const call = (method: string, params: object, sessionId: string | null): Promise<Answer> => {
    const id = ++asked;
    const own = JSON.stringify({ id, method, params });
    const relayed = { id: ++asked, method: 'NodeWorker.sendMessageToWorker', params: { sessionId, message: own } };
    return new Promise((resolve) => {
      waiting.set(id, resolve);
      socket.send(sessionId === null ? own : JSON.stringify(relayed));
    });
  };
  const evaluate = async (expression: string, session: string | null): Promise<number> => {
    const { result } = await call('Runtime.evaluate', { expression, returnByValue: true }, session);
    return Number(result?.result?.value);
  };
  if ((await evaluate('process.pid', null)) !== pid) return null;
  await call('NodeWorker.enable', { waitForDebuggerOnStart: false }, null);
  let total = 0;
  for (const session of [null, ...workers]) {
    await call('HeapProfiler.collectGarbage', {}, session);
    total += await evaluate(MEASURE, session);
  }
  await call('NodeWorker.disable', {}, null);
  return total;
}
