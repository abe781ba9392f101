import { readdirSync, readFileSync } from 'node:fs';
import { join } from 'node:path';
import { parse } from 'yaml';
import { startApiServer } from '../../../sandbox/kubernetes/api/start-api-server.ts';
import { systemClock } from '../../../sandbox/base/clock.ts';
import { relaySuite } from './relay-suite.ts';

const folder = join(import.meta.dirname, '../../../infra/chart/definitions');
const crds = readdirSync(folder).map((name) => parse(readFileSync(join(folder, name), 'utf8')) as unknown);

relaySuite(async () => startApiServer({ port: 0, clock: systemClock }), crds);
