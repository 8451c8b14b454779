// Reads along on a connection to PostgreSQL, just enough to know when an answer says that something was committed. The
// program names every statement by a hash, so one look at its text tells whether a name writes.

export interface CommitDetector {
  /** Told what goes to the server. */
  observeRequest(chunk: Buffer): void
  /** Told what comes back: whether it ends a transaction that wrote. */
  observeResponse(chunk: Buffer): boolean
}

const PARSED = /(s_[0-9a-f]{20})\0([^\0]+)/g
const BOUND = /s_[0-9a-f]{20}/g
const WRITES = /\b(?:insert into|update|delete from)\b/
// The simple query, with its kind and its length before it.
const COMMIT = 'Q\0\0\0\x0bcommit\0'
// ReadyForQuery outside of a transaction: whatever was asked has been committed, or rolled back.
const IDLE = 'Z\0\0\0\x05I'

// A statement is named on each connection anew; what it does stays the same.
const writing = new Set<string>()

export function createCommitDetector(): CommitDetector {
  let isWriting = false
  let tail = ''
  return {
    observeRequest(chunk) {
      const text = chunk.toString('latin1')
      for (const [, name = '', statement = ''] of text.matchAll(PARSED))
        if (WRITES.test(statement)) writing.add(name)
      isWriting ||= text.includes(COMMIT) || [...text.matchAll(BOUND)].some(([name]) => writing.has(name))
    },
    observeResponse(chunk) {
      tail = (tail + chunk.toString('latin1')).slice(-IDLE.length)
      if (tail !== IDLE) return false
      const isCommitted = isWriting
      isWriting = false
      return isCommitted
    },
  }
}
