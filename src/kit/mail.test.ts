// Mail to an SMTP server of our own, which records every command.

import assert from 'node:assert/strict'
import type { Socket } from 'node:net'
import { describe, it } from 'node:test'
import { startMailServer } from '../../test/support/mail-server.ts'
import { createMailer, type MailServer, readMailServer } from './mail.ts'
import type { LogFields } from './observability/log.ts'

const FROM = { name: 'Cowry', address: 'pay@example.com' }

const MAIL = { to: 'ada@example.com', subject: 'Your invitation', text: 'Open https://pay.example.com/i/x' }

async function send(settings: MailServer, mail = MAIL, timeoutMs = 5_000) {
  const lines: { key: string; fields: LogFields | undefined }[] = []
  const log = { write: (key: string, fields?: LogFields) => void lines.push({ key, fields }) }
  const isSent = await createMailer({ log, timeoutMs }, settings, FROM).sendMail(mail)
  return { isSent, lines }
}

describe('mail', () => {
  it('is sent to one address with subject and text', async (t) => {
    const { settings, commands, mails } = await startMailServer(t)
    assert.deepEqual(await send(settings), { isSent: true, lines: [] })
    assert.deepEqual(
      commands.filter((command) => /^(?:MAIL|RCPT)/.test(command)),
      ['MAIL FROM:<pay@example.com>', 'RCPT TO:<ada@example.com>'],
    )
    const [head = '', body] = mails[0]?.split('\r\n\r\n') ?? []
    assert.match(head, /^From: Cowry <pay@example\.com>$/m)
    assert.match(head, /^To: ada@example\.com$/m)
    assert.match(head, /^Subject: Your invitation$/m)
    assert.equal(body?.trim(), MAIL.text)
  })

  it('sends user and password only if they are configured', async (t) => {
    const { settings, commands } = await startMailServer(t)
    const login = { user: 'u', password: 'p:@' }
    assert.ok((await send({ ...settings, login })).isSent)
    const plain = commands.find((command) => command.startsWith('AUTH PLAIN'))?.split(' ')[2] ?? ''
    assert.equal(Buffer.from(plain, 'base64').toString(), '\0u\0p:@')
    assert.ok((await send(settings)).isSent)
    assert.equal(commands.filter((command) => command.startsWith('AUTH')).length, 1)
  })

  it('cannot be given another header or another receiver by its subject, text or address', async (t) => {
    const { settings, commands, mails } = await startMailServer(t)
    const attack =
      'x\r\nBcc: eve@example.com\r\n\r\n.\r\nMAIL FROM:<eve@example.com>\u2028Cc: eve@example.com'
    assert.ok((await send(settings, { ...MAIL, subject: attack, text: `${attack}\r\n.\r\nQUIT` })).isSent)
    assert.equal(mails.length, 1)
    const head = mails[0]?.split('\r\n\r\n')[0] ?? ''
    assert.doesNotMatch(head, /^(?:Bcc|Cc|MAIL)/im)
    assert.equal(commands.filter((command) => /^(?:MAIL|RCPT)/.test(command)).length, 2)
    for (const to of [
      '',
      'ada@example.com, eve@example.com',
      'ada@example.com\r\nRCPT TO:<eve@example.com>',
      'A <ada@example.com>',
    ])
      await assert.rejects(send(settings, { ...MAIL, to }), /one e-mail address/)
    assert.equal(mails.length, 1)
  })

  it('reads no file and no address that a text names', async (t) => {
    const { settings, mails } = await startMailServer(t)
    // A boundary: what a caller without types could hand on.
    const text = { path: '/etc/hostname' } as unknown as string
    const { isSent } = await send(settings, { ...MAIL, text })
    assert.equal(isSent, false)
    assert.deepEqual(mails, [])
  })

  it('is a failure with a log line without address and words if the server refuses it', async (t) => {
    const words = '550 no mailbox ada@example.com here'
    for (const word of ['greeting', 'MAIL', 'RCPT', 'DATA', '.']) {
      const { settings } = await startMailServer(t, { [word]: words })
      const { isSent, lines } = await send(settings)
      assert.equal(isSent, false, word)
      assert.deepEqual(
        lines.map(({ key, fields }) => [key, fields?.status]),
        [['mail.not_sent', 550]],
      )
      assert.doesNotMatch(JSON.stringify(lines), /ada|mailbox/)
    }
  })

  it('does not log the password that the server refuses', async (t) => {
    const { settings } = await startMailServer(t, { AUTH: '535 wrong' })
    const { isSent, lines } = await send({ ...settings, login: { user: 'user-1', password: 'secret-1' } })
    assert.equal(isSent, false)
    assert.deepEqual(lines, [{ key: 'mail.not_sent', fields: { errorCode: 'EAUTH', status: 535 } }])
  })

  it('fails at its timeout, wherever the server falls silent, and leaves no connection', async (t) => {
    for (const word of ['greeting', 'EHLO', 'RCPT', '.']) {
      const { settings, sockets } = await startMailServer(t, { [word]: undefined })
      const startedAt = performance.now()
      const { isSent, lines } = await send(settings, MAIL, 200)
      assert.equal(isSent, false)
      assert.equal(lines[0]?.fields?.errorCode, 'ETIMEDOUT')
      assert.ok(performance.now() - startedAt < 2_000, word)
      await assert.doesNotReject(closed(sockets[0]))
    }
  })

  it('is not sent without TLS to a server on another machine', async (t) => {
    const { settings, mails, commands } = await startMailServer(t)
    // A name of this machine that is not recognized as loopback.
    const { isSent, lines } = await send({ ...settings, host: '0.0.0.0' })
    assert.equal(isSent, false)
    assert.equal(lines[0]?.key, 'mail.not_sent')
    assert.deepEqual(mails, [])
    assert.ok(!commands.some((command) => /^(?:AUTH|MAIL)/.test(command)))
  })

  it('is a failure with the error of the system if there is no server', async () => {
    const { isSent, lines } = await send({ host: '127.0.0.1', port: 1, isTls: false, login: undefined })
    assert.equal(isSent, false)
    assert.deepEqual(lines, [
      { key: 'mail.not_sent', fields: { errorCode: 'ECONNREFUSED', status: undefined } },
    ])
  })
})

async function closed(socket: Socket | undefined): Promise<void> {
  if (!socket || socket.closed || socket.readableEnded) return
  await new Promise<void>((resolve, reject) => {
    const timer = setTimeout(() => reject(new Error('the connection is still open')), 2_000)
    const finish = () => {
      clearTimeout(timer)
      resolve()
    }
    socket.once('end', finish).once('close', finish)
  })
}

describe('the address of a mail server', () => {
  it('is read with its scheme, port and login', () => {
    assert.deepEqual(readMailServer('smtp://mail.example.com'), {
      host: 'mail.example.com',
      port: 587,
      isTls: false,
      login: undefined,
    })
    assert.deepEqual(readMailServer('smtps://us%40er:p%3Aw@[::1]:2465/'), {
      host: '::1',
      port: 2465,
      isTls: true,
      login: { user: 'us@er', password: 'p:w' },
    })
    assert.equal(readMailServer('smtps://mail.example.com')?.port, 465)
  })

  it('is refused with another scheme, without a host, or with options', () => {
    for (const text of [
      '',
      'mail.example.com',
      'http://mail.example.com',
      'smtp://',
      'smtp://h/?ignoreTLS=true',
      'smtp://h/x',
      'smtp://h#x',
      'smtp://%E0%A4%A@h',
    ])
      assert.equal(readMailServer(text), undefined, text)
  })
})
