// How long requests hold the event loop of this process: the longest time between two turns, or the processor time of this
// thread where that is less, because a busy machine stops the thread at any moment. Processor time alone is only known to a
// few milliseconds. The client is another thread, so it is not counted.

import { once } from 'node:events'
import { Worker } from 'node:worker_threads'
import type { Cleanup } from './database.ts'

const CLIENT = `
  const { parentPort } = require('node:worker_threads')
  parentPort.on('message', async ({ url, headers }) => {
    const response = await fetch(url, { headers })
    await response.text()
    parentPort.postMessage(response.status)
  })`

interface Hold {
  http: number
  ms: number
}

type Measure = (url: string, headers: Record<string, string>) => Promise<Hold>

/** Sends a request to a service in this process, and returns the longest hold of the loop until its response. */
export function holdMeter(t: Cleanup): Measure {
  const client = new Worker(CLIENT, { eval: true })
  t.after(async () => void (await client.terminate()))
  return async (url, headers) => {
    const stop = watchTurns()
    client.postMessage({ url, headers })
    const [http] = await once(client, 'message')
    return { http, ms: stop() }
  }
}

/** Runs in every turn of the loop until it is stopped; returns the longest in milliseconds. */
function watchTurns(): () => number {
  let longest = 0
  let [lastAt, lastUsed] = [performance.now(), threadMs()]
  const turn = () => {
    const [now, used] = [performance.now(), threadMs()]
    longest = Math.max(longest, Math.min(now - lastAt, used - lastUsed))
    lastAt = now
    lastUsed = used
    immediate = setImmediate(turn)
  }
  let immediate = setImmediate(turn)
  return () => {
    clearImmediate(immediate)
    return longest
  }
}

function threadMs(): number {
  const { user, system } = process.threadCpuUsage()
  return (user + system) / 1_000
}
