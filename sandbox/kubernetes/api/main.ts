import { writeFileSync } from 'node:fs';
import { systemClock } from '../../base/clock.ts';
import { startApiServer } from './start-api-server.ts';

/**
 * Runs the double alone: `node sandbox/kubernetes/api/main.ts [port] [kubeconfig file]`. Port 8080 unless told; ends on
 * SIGINT or SIGTERM.
 */
const [portText = '8080', kubeconfigFile] = process.argv.slice(2);
const server = await startApiServer({
  port: Number(portText),
  clock: systemClock,
  log: process.env['NODEWRIGHT_LOG'] === 'requests' ? (line) => void process.stderr.write(`${line}\n`) : () => {},
});
if (kubeconfigFile !== undefined) writeFileSync(kubeconfigFile, server.kubeconfig, { mode: 0o600 });
process.stdout.write(`${server.url}\n`);
const stop = (): void => {
  void server.close().then(() => process.exit(0));
};
process.once('SIGINT', stop);
process.once('SIGTERM', stop);
