// What the service says to its database while it serves one request: the very statements, with their values. The limits
// are measured with these, so that they always do the work that the service really does.

import pg from 'pg'

export interface Captured {
  text: string
  values: unknown[]
}

/** Runs the work and answers the prepared statements that this process has sent meanwhile. */
export async function captureStatements(work: () => Promise<unknown>): Promise<Captured[]> {
  const captured: Captured[] = []
  const { query } = pg.Client.prototype
  const watched = function (this: pg.Client, ...asked: unknown[]) {
    const [first] = asked
    if (isPrepared(first)) captured.push({ text: first.text, values: [...first.values] })
    return Reflect.apply(query, this, asked)
  }
  // A boundary: the method has a signature for each of its forms, and this one passes all of them on.
  pg.Client.prototype.query = watched as typeof query
  try {
    await work()
  } finally {
    pg.Client.prototype.query = query
  }
  return captured
}

function isPrepared(asked: unknown): asked is { name: string } & Captured {
  return (
    typeof asked === 'object' && asked !== null && 'name' in asked && 'text' in asked && 'values' in asked
  )
}
