// Sends raw bytes to a socket, for requests that no HTTP client would send.

import { connect } from 'node:net'

export interface RawResponse {
  http: number
  headers: Record<string, string>
  text: string
}

const TIMEOUT_MS = 20_000

/** Sends the bytes unchanged, and reads one complete response. */
export function sendBytes(url: string, bytes: string | Buffer): Promise<RawResponse> {
  const { hostname, port } = new URL(url)
  return new Promise((resolve, reject) => {
    const socket = connect(Number(port), hostname)
    let received = ''
    socket.setTimeout(TIMEOUT_MS, () => socket.destroy(new Error(`incomplete response: ${received}`)))
    socket.on('error', reject)
    socket.on('close', () => reject(new Error(`closed before a complete response: ${received}`)))
    socket.on('data', (chunk) => {
      received += chunk.toString('latin1')
      const answer = parseResponse(received)
      if (!answer) return
      resolve(answer)
      socket.destroy()
    })
    socket.write(bytes)
  })
}

/** The response, once its announced length has arrived. */
function parseResponse(received: string): RawResponse | undefined {
  const end = received.indexOf('\r\n\r\n')
  if (end === -1) return undefined
  const [line = '', ...lines] = received.slice(0, end).split('\r\n')
  const entries = lines.map((text) => {
    const at = text.indexOf(':')
    return [text.slice(0, at).toLowerCase(), text.slice(at + 1).trim()] as const
  })
  const headers = Object.fromEntries(entries)
  const length = Number(headers['content-length'] ?? Number.NaN)
  const rest = received.slice(end + 4)
  if (rest.length < length) return undefined
  // Further bytes respond to input that the server parsed as another request.
  const text = Number.isNaN(length) ? rest : rest.slice(0, length)
  return { http: Number(line.split(' ')[1]), headers, text: Buffer.from(text, 'latin1').toString() }
}
