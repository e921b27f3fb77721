//! Boot flows: the FAT they read, the files and sectors they change, the evidence they give.

mod fat;
