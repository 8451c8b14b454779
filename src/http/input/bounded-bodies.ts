// Reads bodies of requests that are not authenticated yet, within a limit of memory for all of them together. When
// the limit is reached, the body that began first is dropped: a genuine sender finishes within a moment, and a sender
// that only holds memory is the oldest.

import type { Readable } from 'node:stream'
import { ApiError } from '../../core/errors.ts'

export interface BoundedBodies {
  /** Rejects with payload_too_large, or with temporarily_unavailable if the body was dropped. */
  read(stream: Readable, announcedBytes: number): Promise<Buffer>
  /** The bytes held at this moment. */
  heldBytes(): number
}

interface Limits {
  maxBodyBytes: number
  maxTotalBytes: number
}

interface Body {
  chunks: Buffer[]
  bytes: number
  fail(error: Error): void
}

export function createBoundedBodies({ maxBodyBytes, maxTotalBytes }: Limits): BoundedBodies {
  // In the order of their beginning.
  const bodies = new Set<Body>()
  let held = 0

  const release = (body: Body): void => {
    if (!bodies.delete(body)) return
    held -= body.bytes
    body.chunks = []
  }

  const dropOldest = (): void => {
    for (const body of bodies) {
      if (held <= maxTotalBytes) return
      body.fail(new ApiError('temporarily_unavailable'))
    }
  }

  const tooLarge = () =>
    new ApiError('payload_too_large', { message: `The body is larger than ${maxBodyBytes / 1024} KB.` })

  return {
    heldBytes: () => held,
    read: (stream, announcedBytes) =>
      new Promise((resolve, reject) => {
        const body: Body = {
          chunks: [],
          bytes: 0,
          fail(error) {
            release(body)
            stop()
            // The rest is read and discarded, so that the sender can read the response.
            stream.resume()
            reject(error)
          },
        }
        const onData = (chunk: Buffer): void => {
          body.chunks.push(chunk)
          body.bytes += chunk.length
          held += chunk.length
          if (body.bytes > maxBodyBytes) body.fail(tooLarge())
          else if (held > maxTotalBytes) dropOldest()
        }
        const onEnd = (): void => {
          const complete = Buffer.concat(body.chunks, body.bytes)
          release(body)
          stop()
          resolve(complete)
        }
        const onClose = (): void => body.fail(interrupted())
        const stop = (): void => {
          stream.off('data', onData).off('end', onEnd).off('close', onClose).off('error', onClose)
          // The stream of an interrupted request emits an error, which must have a listener.
          stream.on('error', () => undefined)
        }
        if (announcedBytes > maxBodyBytes) {
          stream.resume()
          reject(tooLarge())
          return
        }
        bodies.add(body)
        stream.on('data', onData).on('end', onEnd).on('close', onClose).on('error', onClose)
      }),
  }
}

/** The client closed the connection; it will not read the response. */
function interrupted(): ApiError {
  const message = 'The body did not arrive.'
  return new ApiError('validation_failed', {
    message,
    details: [{ field: 'body', code: 'invalid_format', message }],
  })
}
