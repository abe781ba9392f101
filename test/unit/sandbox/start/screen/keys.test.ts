import { EventEmitter } from 'node:events';
import { expect, test } from 'vitest';
import { type Keyboard, listenForKeys } from '../../../../../sandbox/start/screen/keys.ts';

test('keys act one by one, an arrow or a page key as one, and what nobody knows does nothing', () => {
  const done: Array<string> = [];
  const emitter = new EventEmitter();
  const keyboard = Object.assign(emitter, {
    setRawMode: (on: boolean) => done.push(`raw ${on}`),
    resume: () => emitter,
    pause: () => emitter,
  }) as unknown as Keyboard;
  const stop = listenForKeys(keyboard, {
    evict: () => done.push('evict'),
    scaleBy: (by) => done.push(`scale ${by}`),
    switchDisruption: () => done.push('switch'),
    scroll: (part, by) => done.push(`${part} ${by}`),
    quit: () => done.push('quit'),
  });
  emitter.emit('data', Buffer.from('e+\u001B[A\u001B[B\u001BOB\u001B[5~\u001B[6~\u001B[15~\u001B[1;5D-dx\u0003'));
  stop();
  emitter.emit('data', Buffer.from('e'));
  expect(done).toEqual([
    'raw true',
    'evict',
    'scale 10',
    'nodes -1',
    'nodes 1',
    'nodes 1',
    'news 5',
    'news -5',
    'scale -10',
    'switch',
    'quit',
    'raw false',
  ]);
});
