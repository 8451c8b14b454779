// An SMTP server on this machine, which records every command and mail.

import assert from 'node:assert/strict'
import { createServer, type Socket } from 'node:net'
import type { MailServer } from '../../src/kit/mail.ts'
import type { Cleanup } from './database.ts'

type Replies = Readonly<Record<string, string | undefined>>

/** Replies by the first word of a command; undefined is silence. */
export async function startMailServer(t: Cleanup, replies: Replies = {}) {
  const usual: Replies = {
    greeting: '220 ready',
    EHLO: '250-here\r\n250 AUTH PLAIN',
    AUTH: '235 welcome',
    MAIL: '250 ok',
    RCPT: '250 ok',
    DATA: '354 go on',
    '.': '250 stored',
    QUIT: '221 bye',
    STARTTLS: '502 not here',
  }
  const commands: string[] = []
  const mails: string[] = []
  const sockets: Socket[] = []
  const reply = (socket: Socket, word: string) => {
    const text = word in replies ? replies[word] : usual[word]
    if (text !== undefined) socket.write(`${text}\r\n`)
  }
  const server = createServer((socket) => {
    sockets.push(socket)
    socket.on('error', () => undefined)
    let received = ''
    let isData = false
    socket.on('data', (chunk) => {
      received += chunk.toString()
      for (;;) {
        const end = received.indexOf(isData ? '\r\n.\r\n' : '\r\n')
        if (end < 0) return
        const text = received.slice(0, end)
        received = received.slice(end + (isData ? 5 : 2))
        if (isData) mails.push(text)
        else commands.push(text)
        const word = isData ? '.' : (text.split(' ')[0] ?? '')
        isData = !isData && word === 'DATA' && !('DATA' in replies)
        reply(socket, word)
      }
    })
    reply(socket, 'greeting')
  })
  await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', resolve))
  t.after(async () => {
    for (const socket of sockets) socket.destroy()
    await new Promise((resolve) => server.close(resolve))
  })
  const address = server.address()
  assert(address && typeof address === 'object')
  const settings: MailServer = { host: '127.0.0.1', port: address.port, isTls: false, login: undefined }
  return { settings, commands, mails, sockets }
}
