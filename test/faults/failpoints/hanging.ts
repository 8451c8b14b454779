// Starts a process that hangs at failpoints, so that one kill ends several operations, each at its point.

import { fork } from 'node:child_process'
import { once } from 'node:events'
import { join } from 'node:path'
import type { Failpoint } from '../../../src/kit/failpoints.ts'
import { type Api, createApi } from '../../support/api.ts'
import type { Cleanup } from '../../support/database.ts'
import { eventually } from '../../support/process.ts'
import type { HangingProcessOptions, Message } from './hanging-process.ts'

export interface HangingProcess {
  api: Api
  /** Makes the next call of the point hang. */
  arm(point: Failpoint): Promise<void>
  /** Resolves when as many calls hang at each point as were armed. */
  awaitReached(points: readonly Failpoint[]): Promise<void>
  /** Kills the process with all that hangs in it. */
  kill(): Promise<void>
}

// Its start takes a second; on a machine that many others use it has taken more than a minute.
const WITHIN_MS = 180_000

export async function startHangingProcess(
  t: Cleanup,
  options: HangingProcessOptions,
): Promise<HangingProcess> {
  const child = fork(join(import.meta.dirname, 'hanging-process.ts'), [JSON.stringify(options)])
  const ended = once(child, 'exit')
  const kill = async () => {
    child.kill('SIGKILL')
    await ended
  }
  t.after(kill)
  const messages: Message[] = []
  child.on('message', (message: Message) => void messages.push(message))
  const awaitMessages = async (find: () => unknown[], count = 1) => {
    const state = () => ({ found: find().length, end: child.signalCode ?? child.exitCode, messages })
    const { end, found } = await eventually(state, (now) => now.found >= count || now.end !== null, WITHIN_MS)
    if (found < count) throw new Error(`the process ended with ${end}`)
  }
  const started = () => messages.flatMap((message) => ('url' in message ? [message] : []))
  await awaitMessages(started)
  const [{ url, key } = { url: '', key: '' }] = started()
  return {
    api: createApi(url, { 'x-api-key': key }),
    async arm(point) {
      const armed = () => messages.filter((message) => 'armed' in message && message.armed === point)
      const before = armed().length
      child.send(point)
      await awaitMessages(armed, before + 1)
    },
    awaitReached: (points) =>
      awaitMessages(
        () => points.filter((point) => messages.some((one) => 'reached' in one && one.reached === point)),
        points.length,
      ),
    kill,
  }
}
