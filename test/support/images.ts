// The smallest image of each format that a merchant may upload as logo.

const BASE64 = {
  'image/png':
    'iVBORw0KGgoAAAANSUhEUgAAAAEAAAABCAYAAAAfFcSJAAAADUlEQVR42mNk+M9QDwADhgGAWjR9awAAAABJRU5ErkJggg==',
  'image/webp': 'UklGRiIAAABXRUJQVlA4IBYAAAAwAQCdASoBAAEADsD+JaQAA3AAAAAA',
  'image/jpeg':
    '/9j/4AAQSkZJRgABAQEASABIAAD/2wBDAP//////////////////////////////////////////////////////////////////////////////////////wAALCAABAAEBAREA/8QAFAABAAAAAAAAAAAAAAAAAAAAA//EABQQAQAAAAAAAAAAAAAAAAAAAAD/2gAIAQEAAD8AN//Z',
} as const

export const SVG =
  '<svg xmlns="http://www.w3.org/2000/svg" viewBox="0 0 2 2"><circle id="c" cx="1" cy="1" r="1" fill="#0b6b57"/><use href="#c"/></svg>'

export const imageOf = (type: keyof typeof BASE64): string => `data:${type};base64,${BASE64[type]}`

export function dataUriOf(bytes: string | Buffer, type = 'image/svg+xml'): string {
  return `data:${type};base64,${Buffer.from(bytes).toString('base64')}`
}
