import type { ServiceBusClient } from '@azure/service-bus';
import { expect, test } from 'vitest';
import { createHints } from '../../../../shared/adapters/servicebus/hints.ts';
import { parsePodsHint } from '../../../../shared/contract/messages.ts';
import { RetryableError } from '../../../../shared/ports/errors.ts';

const body = { kind: 'pods', version: 1, cluster: 'c', snapshot: null, reason: 'sweep', attempt: 0 };
const hint = { hint: parsePodsHint(body), atMs: null, key: 'k' };

test('a connection that fails once is tried again by the next hint', async () => {
  const sent: Array<unknown> = [];
  const sender = { sendMessages: (some: unknown) => Promise.resolve(void sent.push(some)) };
  let connects = 0;
  const hints = createHints(async () => {
    connects += 1;
    if (connects === 1) throw new Error('no token yet');
    return { createSender: () => sender } as unknown as ServiceBusClient;
  });
  await expect(hints.send([hint])).rejects.toBeInstanceOf(RetryableError);
  await hints.send([hint]);
  await hints.send([hint]);
  expect(sent).toHaveLength(2);
});
