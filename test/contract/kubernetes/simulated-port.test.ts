import { describe } from 'vitest';
import { VirtualClock } from '../../../sandbox/base/clock.ts';
import { createKubernetes } from '../../../shared/adapters/kubernetes/kubernetes.ts';
import { ApiServer } from '../../simulation/world/api-server.ts';
import { answer } from '../../simulation/world/api-transport.ts';
import { portCases } from './cases/port-cases.ts';

describe('the API server of the simulation', () => {
  const server = new ApiServer(new VirtualClock(0));
  portCases(() => createKubernetes((request) => Promise.resolve(answer(server, request))));
});
