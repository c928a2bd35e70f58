/** Browser assets are imported as text, so that the server carries them and reads no files at run time. */
declare module '*.css' {
  const text: string;
  export default text;
}

declare module '*.svg' {
  const text: string;
  export default text;
}

declare module '*/assets/landing.js' {
  const text: string;
  export default text;
}

declare module '*/assets/report.js' {
  const text: string;
  export default text;
}

declare module '*/assets/docs.js' {
  const text: string;
  export default text;
}

/** Imported as files: the path of each. */
declare module 'swagger-ui-dist/*.js' {
  const path: string;
  export default path;
}
