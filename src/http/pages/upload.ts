// A form with files (multipart/form-data), parsed by the platform.

import { ApiError } from '../../core/errors.ts'
import type { PageFile } from '../../kit/http/route.ts'

interface Upload {
  pairs: [string, string][]
  files: Record<string, PageFile>
}

/** A field for a file that was left empty is left out. */
export async function readUpload(body: Buffer, contentType: string): Promise<Upload> {
  const upload: Upload = { pairs: [], files: Object.create(null) }
  for (const [name, value] of await parse(body, contentType)) {
    if (typeof value === 'string') upload.pairs.push([name, value])
    else if (value.size > 0)
      upload.files[name] = { name: value.name, bytes: Buffer.from(await value.arrayBuffer()) }
  }
  return upload
}

// More than any form of ours. The platform takes a second for fifty thousand of them.
const MAX_PARTS = 200

function hasTooManyParts(body: Buffer, contentType: string): boolean {
  const [, boundary] = /boundary="?([^";]+)/i.exec(contentType) ?? []
  if (boundary === undefined) return false
  const mark = `--${boundary}`
  let [parts, at] = [0, body.indexOf(mark)]
  for (; at >= 0 && parts <= MAX_PARTS; parts += 1) at = body.indexOf(mark, at + mark.length)
  return parts > MAX_PARTS
}

async function parse(body: Buffer, contentType: string): Promise<FormData> {
  try {
    if (hasTooManyParts(body, contentType)) throw new Error(`the form has more than ${MAX_PARTS} parts`)
    const bytes = new Uint8Array(body)
    return await new Response(bytes, { headers: { 'content-type': contentType } }).formData()
  } catch (cause) {
    const message = 'The form cannot be read: it is not valid multipart/form-data.'
    throw new ApiError('validation_failed', {
      message,
      details: [{ field: 'body', code: 'invalid_format', message }],
      cause,
    })
  }
}
