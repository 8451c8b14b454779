// Captures the statements and values that the service sends to its database for one request. The limits are measured
// with these, so that they always do the same work as the service.

import pg from 'pg'

export interface Captured {
  text: string
  values: unknown[]
}

/**
 * Runs the callback and returns the prepared statements that this process sent meanwhile. A read that its connection has
 * sent before is not among them (src/kit/db/connections/shared-reads.ts).
 */
export async function captureStatements(work: () => Promise<unknown>): Promise<Captured[]> {
  const captured: Captured[] = []
  const { query } = pg.Client.prototype
  const captureQuery = function (this: pg.Client, ...args: unknown[]) {
    const [first] = args
    if (isPrepared(first)) captured.push({ text: first.text, values: [...first.values] })
    return Reflect.apply(query, this, args)
  }
  // A boundary: the method has several signatures, and this wrapper passes all of them on.
  pg.Client.prototype.query = captureQuery as typeof query
  try {
    await work()
  } finally {
    pg.Client.prototype.query = query
  }
  return captured
}

function isPrepared(args: unknown): args is { name: string } & Captured {
  return typeof args === 'object' && args !== null && 'name' in args && 'text' in args && 'values' in args
}
